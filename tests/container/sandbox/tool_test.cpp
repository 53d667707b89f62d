#include "container/sandbox/tool.hpp"

#include <gtest/gtest.h>

#include "tests/container/sandbox/agent_driver.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container {
namespace {

/// Calls a tool of an agent that answers `body`: returns the error's message, or the answer.
Task<std::string> outcome_of_tool(Executor executor, std::string body) {
  fakes::LyingAgent agent{executor};
  agent.rest = [&](const protocol::HttpRequest&) { return protocol::HttpResponse{.body = body}; };
  fakes::AgentDriver driver{agent};
  auto answer = co_await call_tool(&driver, {.sandbox = "box", .tool = "count", .directories = {"tools"}});
  co_await agent.stop();
  co_return answer ? answer->dump() : answer.error().message;
}

CO_TEST(Tool, GivesWhatTheToolAnswers) {
  const std::string answer =
      co_await outcome_of_tool(executor, R"({"cause":"exited","exit_code":0,"stdout":"{\"words\":3}"})");
  EXPECT_TRUE(answer.contains(R"("result":{"words":3})")) << answer;
  EXPECT_TRUE(answer.contains(R"("status":"ok")")) << answer;
  const std::string failed =
      co_await outcome_of_tool(executor, R"({"cause":"exited","exit_code":3,"stdout":"no","stderr":"why"})");
  EXPECT_TRUE(failed.contains(R"("exit_code":3)") && failed.contains(R"("stderr":"why")")) << failed;
}

CO_TEST(Tool, SaysWhatOfAnAnswerHasAnotherType) {
  const std::string of = " of the result of a command is not ";
  const std::vector<std::pair<std::string, std::string>> lies{
      {R"({"cause":7})", "\"cause\"" + of + "a text"},
      {R"({"cause":"spawn_failed","error":"ENOENT"})", "\"error\"" + of + "an object"},
      {R"({"cause":"spawn_failed","error":{"errno":2}})", "\"error/errno\"" + of + "a text"},
      {R"({"cause":"exited","exit_code":"0"})", "\"exit_code\"" + of + "a number from 0 on"},
      {R"({"cause":"exited","exit_code":0,"stdout":["x"]})", "\"stdout\"" + of + "a text"},
      {R"({"cause":"exited","exit_code":1,"stderr":{}})", "\"stderr\"" + of + "a text"},
  };
  for (const auto& [lie, told] : lies) {
    EXPECT_EQ(co_await outcome_of_tool(executor, lie), "what answers there is not skiffd: " + told) << lie;
  }
}

}  // namespace
}  // namespace skiff::container
