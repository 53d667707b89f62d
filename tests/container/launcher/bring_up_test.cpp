#include "container/launcher/bring_up.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "protocol/utf8.hpp"
#include "tests/container/launcher/agent_driver.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container {
namespace {

/// The message of a bring-up whose setup is answered so; empty when it came up. In any other case nothing may be left.
Task<std::string> error_of_setup(Executor executor, std::string body) {
  fakes::LyingAgent agent{executor};
  agent.rest = [&](const protocol::HttpRequest&) { return protocol::HttpResponse{.body = body}; };
  fakes::AgentDriver driver{agent};
  BringUp wanted{.spec = {.name = "box"}, .setup = "make"};
  auto up = co_await bring_up(&driver, std::move(wanted), [](Phase, std::string_view) {});
  co_await agent.stop();
  EXPECT_EQ(driver.removed, up ? 0 : 1);
  co_return up ? "" : up.error().message;
}

CO_TEST(BringUp, RunsTheSetup) {
  EXPECT_EQ(co_await error_of_setup(executor, R"({"cause":"exited","exit_code":0})"), "");
  EXPECT_EQ(co_await error_of_setup(executor, R"({"cause":"exited","exit_code":2,"stdout":"why"})"),
            "the setup failed (exited):\nwhy");
}

CO_TEST(BringUp, SaysWhatOfASetupsAnswerHasAnotherType) {
  for (const std::string lie :
       {R"({"exit_code":"0"})", R"({"exit_code":0,"cause":[]})", R"({"exit_code":0,"stdout":7})"}) {
    const std::string told = co_await error_of_setup(executor, lie);
    EXPECT_TRUE(told.starts_with("what answers there is no skiffd: \"")) << told;
  }
}

CO_TEST(BringUp, CutsASetupsOutputBetweenCharacters) {
  std::string output;
  while (output.size() < 3'000) output += "\xe2\x82\xac";
  for (const std::string before : {"", "x", "xy"}) {
    const nlohmann::json said{{"cause", "exited"}, {"exit_code", 1}, {"stdout", before + output}};
    const std::string told = co_await error_of_setup(executor, said.dump());
    EXPECT_TRUE(protocol::is_valid_utf8(told)) << told;
    EXPECT_LT(told.size(), 2'100u);
  }
}

}  // namespace
}  // namespace skiff::container
