#include "runtime/dialects/kubebox/events.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "protocol/socket_io/packets.hpp"

namespace skiff::runtime::dialects::kubebox {
namespace {

TEST(KubeboxEvent, CarriesASessionAndAProcess) {
  auto event = parse_client_event(R"(["check_status",{"session_id":"s","process_id":7,"more":[1]},"more"])");
  ASSERT_TRUE(event);
  EXPECT_EQ(event->name, "check_status");
  EXPECT_EQ(event->data.session_id, "s");
  EXPECT_EQ(event->data.process_id, 7U);
  event = parse_client_event(R"(["a",{"session_id":5,"process_id":"8"}])");
  ASSERT_TRUE(event);
  EXPECT_EQ(event->data.session_id, "");
  EXPECT_EQ(event->data.process_id, 8U);
  EXPECT_TRUE(parse_client_event(R"(["a"])"));
  EXPECT_TRUE(parse_client_event(R"(["a",null])"));
}

TEST(KubeboxEvent, IsRefusedIfItIsMalformed) {
  const std::string deep = R"(["a",)" + std::string(40, '[') + std::string(40, ']') + "]";
  for (const std::string& text : {std::string{}, std::string{"{}"}, std::string{"[]"}, std::string{"[1]"},
                                  std::string{"[\"a\""}, std::string{"[\"a\"] "} + "x", deep}) {
    EXPECT_FALSE(parse_client_event(text)) << text;
  }
}

TEST(KubeboxEvent, IsWrittenWithTheIdsThatItHas) {
  std::string frame = protocol::socket_io::begin_event("a", 7);
  end_event(frame, {.session_id = "s\"", .process_id = 8});
  EXPECT_EQ(frame, R"(427["a",{"session_id":"s\"","process_id":8}])");
  frame = protocol::socket_io::begin_event("a");
  end_event(frame, {.session_id = "s"});
  EXPECT_EQ(frame, R"(42["a",{"session_id":"s"}])");
  EXPECT_EQ(exit_event({.session_id = "s", .process_id = 8}, -9, 0),
            R"(420["command_exit",{"exit_code":-9,"session_id":"s","process_id":8}])");
}

TEST(KubeboxProcessId, IsAnIntegerOrItsDigits) {
  EXPECT_EQ(process_id_of(12U), 12U);
  EXPECT_EQ(process_id_of("12"), 12U);
  for (const nlohmann::json& value : {nlohmann::json(-1), nlohmann::json(1.5), nlohmann::json("1x"), nlohmann::json(""),
                                      nlohmann::json(nullptr), nlohmann::json(1ULL << 60U)}) {
    EXPECT_EQ(process_id_of(value), std::nullopt) << value;
  }
}

}  // namespace
}  // namespace skiff::runtime::dialects::kubebox
