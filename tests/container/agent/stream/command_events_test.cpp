#include "container/agent/stream/command_events.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/agent_frames.hpp"

namespace skiff::container {
namespace {

using Kind = CommandEvent::Kind;
using test::output_frame;
using test::text_frame;

TEST(CommandEvents, TellTheWholeLifeOfACommand) {
  CommandEvents events;
  EXPECT_FALSE(events.started());
  EXPECT_EQ(events.take(text_frame(R"({"type":"started","pid":7})")).value()->kind, Kind::started);
  EXPECT_TRUE(events.started());
  const auto out = events.take(output_frame(1, 0, "abc")).value();
  EXPECT_EQ(out->bytes, "abc");
  EXPECT_FALSE(out->is_stderr);
  const auto err = events.take(output_frame(2, 3, "de")).value();
  EXPECT_TRUE(err->is_stderr);
  EXPECT_EQ(err->offset, 3U);
  const auto gap = events.take(text_frame(R"({"type":"gap","from":5,"to":9})")).value();
  EXPECT_EQ(gap->kind, Kind::gap);
  EXPECT_EQ(gap->lost_bytes, 4U);
  const auto exit = events.take(text_frame(R"({"type":"exit","cause":"exited","exit_code":3})")).value();
  EXPECT_EQ(exit->kind, Kind::exit);
  EXPECT_EQ(exit->exit.cause, "exited");
  EXPECT_EQ(exit->exit.exit_code, 3);
}

TEST(CommandEvents, TellNothingTwiceWhenTheConnectionIsANewOne) {
  CommandEvents events;
  ASSERT_TRUE(events.take(text_frame(R"({"type":"started"})")).value());
  ASSERT_TRUE(events.take(output_frame(1, 0, "abc")).value());
  EXPECT_FALSE(events.take(text_frame(R"({"type":"started"})")).value());
  EXPECT_FALSE(events.take(output_frame(1, 0, "ab")).value());
  const auto rest = events.take(output_frame(1, 1, "bcde")).value();
  EXPECT_EQ(rest->bytes, "de");
  EXPECT_EQ(rest->offset, 3U);
  EXPECT_FALSE(events.take(text_frame(R"({"type":"gap","from":2,"to":4})")).value());
  EXPECT_EQ(events.take(text_frame(R"({"type":"gap","from":2,"to":6})")).value()->lost_bytes, 1U);
}

TEST(CommandEvents, BeginWhereTheCallerJoins) {
  CommandEvents events{2};
  EXPECT_TRUE(events.started());
  EXPECT_EQ(events.take(output_frame(1, 0, "abc")).value()->bytes, "c");
}

TEST(CommandEvents, GiveTheAgentsErrorAndThoseOfANewerOne) {
  CommandEvents events;
  const auto known = events.take(text_frame(R"({"type":"error","code":"no_space","detail":"d","field":"/f"})"));
  EXPECT_EQ(known.error().code, Errc::no_space);
  EXPECT_EQ(known.error().message, "d");
  EXPECT_EQ(known.error().field, "/f");
  const auto unknown = events.take(text_frame(R"({"type":"error","code":"of_tomorrow"})"));
  EXPECT_EQ(unknown.error().code, Errc::invalid_request);
  EXPECT_EQ(unknown.error().message, "of_tomorrow");
  EXPECT_FALSE(events.take(text_frame(R"({"type":"of_tomorrow"})")).value());
}

TEST(CommandEvents, RefuseWhatNoAgentMeans) {
  for (const char* text : {"", "{", "[]", "null", R"("exit")"}) {
    const auto taken = CommandEvents{}.take(text_frame(text));
    ASSERT_FALSE(taken) << text;
    EXPECT_EQ(taken.error().code, Errc::invalid_request);
  }
  const auto endless = CommandEvents{~std::uint64_t{0} - 1}.take(output_frame(1, ~std::uint64_t{0} - 1, "abc"));
  ASSERT_FALSE(endless);
  EXPECT_EQ(endless.error().code, Errc::invalid_request);
}

TEST(CommandEvents, TakeNoValueOfAWrongType) {
  CommandEvents events;
  EXPECT_FALSE(events.take(text_frame(R"({"type":5})")).value());
  for (const char* gap : {R"({"type":"gap","from":[],"to":"9"})", R"({"type":"gap","from":-1,"to":-1})",
                          R"({"type":"gap","from":0,"to":1e300})", R"({"type":"gap","from":1,"to":2})"}) {
    EXPECT_EQ(events.take(text_frame(gap)).error().code, Errc::invalid_request) << gap;
  }
  EXPECT_EQ(events.take(text_frame(R"({"type":"error","code":{},"detail":[]})")).error().code, Errc::invalid_request);
  const auto exit = events.take(text_frame(R"({"type":"exit","cause":1,"exit_code":"0","signal":[],"error":"x"})"));
  EXPECT_EQ(exit.value()->exit.cause, "");
  EXPECT_FALSE(exit.value()->exit.exit_code);
}

TEST(CommandExit, TakesWhatAProcessCanEndWith) {
  using nlohmann::json;
  EXPECT_EQ(CommandExit::of(json::parse(R"({"exit_code":255})")).exit_code, 255);
  EXPECT_FALSE(CommandExit::of(json::parse(R"({"exit_code":256})")).exit_code);
  EXPECT_FALSE(CommandExit::of(json::parse(R"({"exit_code":-1})")).exit_code);
  EXPECT_FALSE(CommandExit::of(json::parse(R"({"exit_code":null})")).exit_code);
  EXPECT_EQ(CommandExit::of(json::parse(R"({"signal":"SIGTERM"})")).signal, "SIGTERM");
  EXPECT_EQ(CommandExit::of(json::parse(R"({"error":{"message":"no such file"}})")).error, "no such file");
  EXPECT_EQ(CommandExit::of(json::parse("[]")).cause, "");
}

}  // namespace
}  // namespace skiff::container
