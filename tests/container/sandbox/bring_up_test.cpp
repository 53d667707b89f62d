#include "container/sandbox/bring_up.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/async/task_group.hpp"
#include "protocol/json/utf8.hpp"
#include "tests/container/sandbox/agent_driver.hpp"
#include "tests/container/sandbox/refusing_driver.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

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
    EXPECT_TRUE(told.starts_with("what answers there is not skiffd: \"")) << told;
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

/// The caller is interrupted at the moment at which the sandbox is there.
class InterruptedAtTheEnd final : public fakes::AgentDriver {
 public:
  InterruptedAtTheEnd(const fakes::LyingAgent& agent, TaskGroup* caller) : AgentDriver{agent}, caller_{caller} {}
  Task<Result<Sandbox>> create(SandboxSpec spec, Progress progress) override {
    auto made = co_await AgentDriver::create(std::move(spec), std::move(progress));
    caller_->cancel();
    co_return made;
  }

 private:
  TaskGroup* caller_;
};

CO_TEST(BringUp, LeavesNothingWhenAnInterruptComesWithTheEndOfTheCreation) {
  fakes::LyingAgent agent{executor};
  TaskGroup caller{executor};
  InterruptedAtTheEnd driver{agent, &caller};
  BringUp wanted{.spec = {.name = "box"}, .setup = "make"};
  caller.spawn("caller", [](Driver* by, BringUp what) -> Task<> {
    (void)co_await bring_up(by, std::move(what), [](Phase, std::string_view) {});
    ADD_FAILURE() << "it was not interrupted";
  }(&driver, std::move(wanted)));
  co_await caller.join();
  co_await agent.stop();
  EXPECT_GE(driver.removed, 1);
}

/// Has one sandbox, whose name is taken.
class OneSandbox final : public fakes::RefusingDriver {
 public:
  Task<Result<Sandbox>> create(SandboxSpec, Progress) override { co_return fail(Errc::sandbox_conflict, "taken"); }
  Task<Result<Sandbox>> start(std::string name, std::chrono::milliseconds, Progress) override {
    Sandbox found;
    found.name = std::move(name);
    found.image = "debian";
    found.labels = {{"team", "a"}, {"tier", "1"}};
    co_return found;
  }
};

Task<std::vector<std::string>> differences_of(SandboxSpec spec) {
  OneSandbox driver;
  spec.name = "box";
  BringUp wanted{.spec = std::move(spec), .get_or_create = true};
  auto up = co_await bring_up(&driver, std::move(wanted), [](Phase, std::string_view) {});
  EXPECT_TRUE(up && !up->is_new);
  co_return up ? up->differences : std::vector<std::string>{"it failed"};
}

CO_TEST(BringUp, IsContentWithWhatIsThereAndAsItWasWanted) {
  EXPECT_THAT(co_await differences_of({.name = {}}), IsEmpty());
  EXPECT_THAT(co_await differences_of({.name = {}, .image = "debian", .labels = {{"tier", "1"}}}), IsEmpty());
}

CO_TEST(BringUp, TellsInWhatTheOneThatIsThereIsAnother) {
  SandboxSpec request{.name = {}, .image = "busybox", .labels = {{"team", "b"}, {"place", "x"}}};
  request.lease.ttl = 1h;
  EXPECT_THAT(co_await differences_of(std::move(request)),
              ElementsAre("its image is debian, not busybox", "it has no label place", "its label team is a, not b",
                          "its lease has no end: `skiff extend box` gives it one"));
}

}  // namespace
}  // namespace skiff::container
