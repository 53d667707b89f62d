#include "container/agent/stream/command_stream.hpp"

#include <gtest/gtest.h>

#include "tests/container/agent/lying_agent.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container {
namespace {

using fakes::LyingAgent;
using fakes::output_frame;
using nlohmann::json;
using namespace std::chrono_literals;

constexpr auto kStarted = R"({"type":"started","channel":1})";
constexpr auto kExit = R"({"type":"exit","channel":1,"cause":"exited","exit_code":0})";

/// One command of an agent that lies, followed from its start.
struct FollowedCommand {
  FollowedCommand(Executor executor, std::deque<LyingAgent::Visit> visits, std::chrono::milliseconds patience = 100ms,
                  std::chrono::milliseconds renewal = CommandStream::kRenewal)
      : agent{executor}, stream{executor, agent.endpoint(), "default", "c1", patience, renewal} {
    agent.visits = std::move(visits);
    stream.start({{"command", "true"}});
  }

  /// "started", "out 0 abc", "err 3 d", "gap 4 2", "exit", or "failed: ..."
  Task<std::string> next() {
    auto event = co_await stream.next();
    if (!event) {
      code = event.error().code;
      co_return "failed: " + event.error().message;
    }
    switch (event->kind) {
      case CommandStream::Event::Kind::started:
        co_return "started";
      case CommandStream::Event::Kind::gap:
        co_return "gap " + std::to_string(event->offset) + " " + std::to_string(event->lost_bytes);
      case CommandStream::Event::Kind::exit:
        co_return "exit";
      case CommandStream::Event::Kind::output:
        break;
    }
    co_return (event->is_stderr ? "err " : "out ") + std::to_string(event->offset) + " " + event->bytes;
  }

  LyingAgent agent;
  CommandStream stream;
  Errc code = Errc::internal;
};

CO_TEST(CommandStream, TellsAllThatAnAgentSaysInOrder) {
  FollowedCommand command{executor,
                          {{.messages = {kStarted, output_frame(0, "abc"), output_frame(3, "d", 2),
                                         R"({"type":"gap","from":4,"to":6})", output_frame(6, "e"), kExit}}}};
  for (const char* expected : {"started", "out 0 abc", "err 3 d", "gap 4 2", "out 6 e", "exit"}) {
    EXPECT_EQ(co_await command.next(), expected);
  }
  EXPECT_EQ(command.agent.asked.at(0)["type"], "start");
  EXPECT_EQ(command.agent.asked.at(0)["command"], "true");
  co_await command.agent.stop();
}

CO_TEST(CommandStream, GoesOnWhereAConnectionBrokeWithoutTellingAnythingTwice) {
  FollowedCommand command{executor,
                          {{.messages = {kStarted, output_frame(0, "abc")}},
                           {.messages = {output_frame(1, "bcd")}},  // more than was asked for
                           {.messages = {output_frame(0, "ab"), output_frame(4, "e"), kExit}}}};
  for (const char* expected : {"started", "out 0 abc", "out 3 d", "out 4 e", "exit"}) {
    EXPECT_EQ(co_await command.next(), expected);
  }
  CO_ASSERT_TRUE(command.agent.asked.size() == 3);
  EXPECT_EQ(command.agent.asked[1]["type"], "attach") << "it was started once";
  EXPECT_EQ(command.agent.asked[1]["from"], 3);
  EXPECT_EQ(command.agent.asked[2]["from"], 4);
  co_await command.agent.stop();
}

CO_TEST(CommandStream, TakesOverFromAConnectionWhoseTokenGrowsOldBeforeItEnds) {
  constexpr auto kPong = R"({"type":"pong","channel":1,"data":""})";
  FollowedCommand command{executor,
                          {{.messages = {kStarted}, .stays = true},
                           {.messages = {kPong, output_frame(0, "abc")}, .stays = true},
                           {.messages = {output_frame(3, "d"), kExit}, .stays = true}},
                          100ms,
                          0ms};
  for (const char* expected : {"started", "out 0 abc", "out 3 d"}) EXPECT_EQ(co_await command.next(), expected);
  CO_ASSERT_TRUE(command.agent.asked.size() == 3);
  for (const std::size_t renewed : {1U, 2U}) {
    EXPECT_EQ(command.agent.asked[renewed]["type"], "attach");
    EXPECT_EQ(command.agent.asked[renewed]["lossless"], true);
    EXPECT_GE(command.agent.open[renewed], 2) << "the command is never without a reader";
  }
  EXPECT_EQ(command.agent.asked[2]["from"], 3);
  co_await command.agent.stop();
}

CO_TEST(CommandStream, JoinsWhereAndAsItIsTold) {
  for (const bool lossless : {true, false}) {
    FollowedCommand command{executor, {{.messages = {output_frame(7, "h")}, .stays = true}}};
    command.stream.attach({.from = 7, .lossless = lossless});
    EXPECT_EQ(co_await command.next(), "out 7 h");
    const json& asked = command.agent.asked.at(0);
    EXPECT_EQ(asked["type"], "attach");
    EXPECT_EQ(asked["from"], 7);
    EXPECT_EQ(asked["lossless"], lossless) << "whether the command waits for this reader";
    co_await command.agent.stop();
  }
}

CO_TEST(CommandStream, IsStartedAgainWhenNobodySaidThatItWas) {
  FollowedCommand command{executor, {{}, {.messages = {kStarted, kExit}}}};
  EXPECT_EQ(co_await command.next(), "started");
  CO_ASSERT_TRUE(command.agent.asked.size() == 2);
  EXPECT_EQ(command.agent.asked[1]["type"], "start");
  EXPECT_EQ(command.agent.asked[1]["id"], "c1") << "so that it is the same";
  co_await command.agent.stop();
}

CO_TEST(CommandStream, PassesOnWhatTheAgentRefuses) {
  FollowedCommand command{
      executor, {{.messages = {R"({"type":"error","code":"session_not_found","detail":"no session \"x\""})"}}}};
  EXPECT_EQ(co_await command.next(), "failed: no session \"x\"");
  EXPECT_EQ(command.code, Errc::session_not_found);
  co_await command.agent.stop();
}

CO_TEST(CommandStream, PassesOverWhatALaterAgentMaySay) {
  FollowedCommand command{
      executor, {{.messages = {R"({"type":"weather","sun":true})", std::string(30, '\2'), "\1", kStarted, kExit}}}};
  EXPECT_EQ(co_await command.next(), "started");
  EXPECT_EQ(co_await command.next(), "exit");
  co_await command.agent.stop();
}

/// A message behind "started" ends the stream, with an error that says so.
Task<> fail_by(Executor executor, std::string message, std::string expected) {
  FollowedCommand command{executor, {{.messages = {kStarted, output_frame(0, "abc"), message}, .stays = true}}};
  EXPECT_EQ(co_await command.next(), "started");
  EXPECT_EQ(co_await command.next(), "out 0 abc");
  const std::string said = co_await command.next();
  EXPECT_TRUE(said.starts_with("failed: ") && said.contains(expected)) << message << ": " << said;
  EXPECT_EQ(command.code, Errc::invalid_request);
  co_await command.agent.stop();
}

CO_TEST(CommandStream, RefusesOutputThatLeavesSomethingOut) {
  co_await fail_by(executor, output_frame(4, "e"), "its output goes on at 4 after 3");
  co_await fail_by(executor, output_frame(UINT64_MAX - 1, "abc"), "its output goes on at 18446744073709551614");
}

CO_TEST(CommandStream, RefusesGapsThatSayNothing) {
  for (const std::string gap :
       {R"({"type":"gap"})", R"({"type":"gap","from":"3","to":"4"})", R"({"type":"gap","from":-1,"to":9})",
        R"({"type":"gap","from":3,"to":-1})", R"({"type":"gap","from":5,"to":9})",
        R"({"type":"gap","from":3.5,"to":9})", R"({"type":"gap","from":[],"to":{}})"}) {
    co_await fail_by(executor, gap, "it does not say which output is lost");
  }
}

CO_TEST(CommandStream, RefusesWhatIsNoJson) {
  co_await fail_by(executor, "{nonsense", "");
  co_await fail_by(executor, std::string(200, '[') + std::string(200, ']'), "");
}

CO_TEST(CommandStream, RefusesOutputThatWouldBeginAnewAfterTheLargestGap) {
  FollowedCommand command{executor,
                          {{.messages = {kStarted, R"({"type":"gap","from":0,"to":18446744073709551615})",
                                         output_frame(UINT64_MAX, "abc"), kExit}}}};
  EXPECT_EQ(co_await command.next(), "started");
  EXPECT_EQ(co_await command.next(), "gap 0 18446744073709551615");
  EXPECT_TRUE((co_await command.next()).starts_with("failed: "));
  co_await command.agent.stop();
}

CO_TEST(CommandStream, TakesEventsOfWrongTypesForWhatTheyAre) {
  FollowedCommand command{executor,
                          {{.messages = {R"({"type":7})", R"({"type":null})", R"({"kind":"exit"})",
                                         R"({"type":"error","code":7,"detail":[],"field":{}})"}}}};
  EXPECT_EQ(co_await command.next(), "failed: ");
  EXPECT_EQ(command.code, Errc::invalid_request);
  co_await command.agent.stop();
}

CO_TEST(CommandStream, GivesUpWhenEachConnectionEndsWithoutTheCommandsEnd) {
  FollowedCommand command{executor, {{.messages = {kStarted}}}};
  EXPECT_EQ(co_await command.next(), "started");
  const std::string said = co_await command.next();
  EXPECT_TRUE(said.starts_with("failed: the agent ends each connection, and not the command")) << said;
  EXPECT_EQ(command.code, Errc::io_error);
  EXPECT_GT(command.agent.asked.size(), 1u);
  co_await command.agent.stop();
}

CO_TEST(CommandStream, GivesUpWhenAnAgentTalksWithoutEndAndSaysNothing) {
  FollowedCommand command{executor,
                          {{.messages = {R"({"type":"weather"})", output_frame(0, ""), R"({})"}, .repeats = true}}};
  EXPECT_EQ(co_await command.next(), "failed: what answers there is not skiffd: it says nothing that is known here");
  EXPECT_EQ(command.code, Errc::invalid_request);
  co_await command.agent.stop();
}

CO_TEST(CommandStream, RefusesAMessageThatIsTooLong) {
  FollowedCommand command{executor, {{.messages = {std::string(std::size_t{5} << 20U, '\1')}, .stays = true}}};
  EXPECT_TRUE((co_await command.next()).starts_with("failed: "));
  EXPECT_EQ(command.code, Errc::payload_too_large);
  co_await command.agent.stop();
}

CO_TEST(CommandStream, SaysThatNoSocketGetsThrough) {
  FollowedCommand command{executor, {}};
  const std::string said = co_await command.next();
  EXPECT_TRUE(said.starts_with("failed: the agent cannot be reached by a WebSocket through http://agent: 404")) << said;
  EXPECT_EQ(command.code, Errc::not_supported);
  co_await command.agent.stop();
}

CO_TEST(CommandStream, FeedsAgainWhatALostAnswerLeftOpenAtItsOffset) {
  FollowedCommand command{executor, {}};
  std::vector<std::string> targets;
  command.agent.rest = [&](const protocol::HttpRequest& request) -> protocol::HttpResponse {
    targets.push_back(request.target_text);
    if (targets.size() == 2) return {.status = 503, .body = "away"};
    return {.status = 204};
  };
  for (const char* bytes : {"abc", "de"}) {
    auto fed = co_await command.stream.feed(bytes);
    EXPECT_TRUE(fed) << fed.error().message;
  }
  EXPECT_EQ(targets, (std::vector<std::string>{"/v1/sessions/default/commands/c1/stdin?offset=0",
                                               "/v1/sessions/default/commands/c1/stdin?offset=3",
                                               "/v1/sessions/default/commands/c1/stdin?offset=3"}));
  co_await command.agent.stop();
}

}  // namespace
}  // namespace skiff::container
