#include "container/serve/fleet/sandbox_log.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/container/agent/lying_agent.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container::serve {
namespace {

/// The log that an agent tells: `commands` is its list of the session `s`, `output` what each of them has printed.
Task<Result<std::vector<LogEntry>>> told_by(Executor executor, std::string commands, std::string output,
                                            LogQuery query = {}) {
  fakes::LyingAgent agent{executor};
  agent.rest = [&](const protocol::HttpRequest& request) -> protocol::HttpResponse {
    const std::string_view path = request.target.path;
    if (path == "/v1/sessions") return {.body = R"({"items":[{"id":"s"}]})"};
    return {.body = path.ends_with("/output") ? output : commands};
  };
  AgentClient client{executor, agent.endpoint()};
  auto read = co_await read_sandbox_log(&client, std::move(query));
  co_await agent.stop();
  co_return read;
}

std::string commands_of(const std::vector<std::string>& ids) {
  nlohmann::json items = nlohmann::json::array();
  for (const std::string& id : ids) {
    items.push_back({{"id", id},
                     {"session", "s"},
                     {"state", "running"},
                     {"command", id},
                     {"started_at", "2026-01-01T00:00:0" + id + "Z"},
                     {"output", {{"next_offset", 100'000}}}});
  }
  return nlohmann::json{{"items", items}}.dump();
}

std::string output_of(std::string_view data) {
  return nlohmann::json{{"type", "output"}, {"stream", "stdout"}, {"time", "2026-01-01T00:00:05Z"}, {"data", data}}
      .dump();
}

std::vector<std::string> messages_of(const Result<std::vector<LogEntry>>& entries) {
  std::vector<std::string> messages;
  for (const LogEntry& one : *entries) messages.push_back(one.message);
  return messages;
}

CO_TEST(SandboxLog, CommandsThatRunBesideEachOtherAreToldByTheirTime) {
  const auto entries = co_await told_by(executor, commands_of({"7", "1"}), output_of("x\ny\n"));
  CO_ASSERT_TRUE(entries.has_value());
  EXPECT_EQ(messages_of(entries), (std::vector<std::string>{"started: 1", "x", "y", "x", "y", "started: 7"}));
}

CO_TEST(SandboxLog, AMillionLinesCostNoMoreThanAreWanted) {
  std::string lines;
  for (int i = 0; i < 20; ++i) lines += output_of(std::string(50'000, '\n')) + "\n";
  const auto entries = co_await told_by(executor, commands_of({"1", "2"}), lines, {.limit = 3});
  EXPECT_EQ(messages_of(entries), (std::vector<std::string>{"started: 1", "started: 2", ""}));
  const auto newest = co_await told_by(executor, commands_of({"1", "2"}), lines, {.limit = 3, .backward = true});
  EXPECT_EQ(messages_of(newest), (std::vector<std::string>{"", "", ""}));
}

CO_TEST(SandboxLog, ALongLineIsCut) {
  const auto entries = co_await told_by(executor, commands_of({"1"}), output_of(std::string(100'000, 'x')));
  CO_ASSERT_TRUE(entries && entries->size() == 2);
  EXPECT_LT((*entries)[1].message.size(), 10'000U);
}

CO_TEST(SandboxLog, WhatAnAgentSaysThatLiesIsNotTold) {
  for (const char* item : {R"({})", R"({"id":7,"session":[],"started_at":{},"command":{},"output":7,"state":"ended"})",
                           R"({"id":"1","started_at":"yesterday","argv":[1,{}],"output":{"next_offset":-1}})"}) {
    const auto entries = co_await told_by(executor, std::string{R"({"items":[)"} + item + "]}", "[1]");
    CO_ASSERT_TRUE(entries.has_value()) << item;
    EXPECT_TRUE(entries->empty()) << item;
  }
  EXPECT_FALSE((co_await told_by(executor, "[]", "")).has_value());
  EXPECT_FALSE((co_await told_by(executor, commands_of({"1"}), "garbage")).has_value());
}

}  // namespace
}  // namespace skiff::container::serve
