#include "container/serve/gateway/wake.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/async/event.hpp"
#include "base/async/task_group.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container::serve {
namespace {

using namespace std::chrono_literals;

/// A start that takes until it is told to end.
struct SlowStart {
  explicit SlowStart(Executor executor) : changed{executor} {}

  [[nodiscard]] Wakes::Start start() {
    return [this] { return run(this); };
  }
  static Task<Result<>> run(SlowStart* self) {
    ++self->begun;
    while (!self->outcome) co_await self->changed.wait();
    co_return *self->outcome;
  }
  void end(Result<> how) {
    outcome = std::move(how);
    changed.notify_all();
  }

  Event changed;
  std::optional<Result<>> outcome = {};
  int begun = 0;
};

/// A client that stays until it is told to leave.
struct HeldClient {
  explicit HeldClient(Executor executor) : changed{executor} {}

  static Task<bool> left(HeldClient* self) {
    while (!self->gone) co_await self->changed.wait();
    co_return true;
  }
  void leave() {
    gone = true;
    changed.notify_all();
  }

  Event changed;
  bool gone = false;
};

std::string word_of(const Result<>& outcome) {
  return outcome ? "ok" : std::string{name(outcome.error().code)};
}

Task<> wake_into(Wakes* wakes, Wakes::Which which, Wakes::Start start, HeldClient* client,
                 std::vector<std::string>* outcomes) {
  auto outcome = co_await wakes->wake(std::move(which), std::move(start), HeldClient::left(client));
  outcomes->push_back(word_of(outcome));
}

CO_TEST(Wakes, StartOnceForAllWhoAsk) {
  Wakes wakes{executor, {}};
  SlowStart slow{executor};
  HeldClient client{executor};
  TaskGroup group{executor};
  std::vector<std::string> outcomes;
  for (int i = 0; i < 50; ++i) group.spawn("wake", wake_into(&wakes, {"t", "a"}, slow.start(), &client, &outcomes));
  EXPECT_EQ(slow.begun, 1);
  EXPECT_EQ(wakes.starting(), 1u);
  EXPECT_EQ(wakes.waiting(), 50u);
  EXPECT_TRUE(outcomes.empty());
  slow.end({});
  co_await group.join();
  EXPECT_EQ(outcomes, std::vector<std::string>(50, "ok"));
  EXPECT_EQ(wakes.starting() + wakes.waiting() + wakes.tenants(), 0u);
  auto again = co_await wakes.wake({"t", "a"}, slow.start(), HeldClient::left(&client));
  EXPECT_TRUE(again.has_value());
  EXPECT_EQ(slow.begun, 2) << "it may have been stopped again";
}

CO_TEST(Wakes, TellAllOfAFailure) {
  Wakes wakes{executor, {}};
  SlowStart slow{executor};
  HeldClient client{executor};
  TaskGroup group{executor};
  std::vector<std::string> outcomes;
  for (int i = 0; i < 3; ++i) group.spawn("wake", wake_into(&wakes, {"t", "a"}, slow.start(), &client, &outcomes));
  slow.end(fail(Errc::sandbox_failed, "no image"));
  co_await group.join();
  EXPECT_EQ(outcomes, std::vector<std::string>(3, "sandbox_failed"));
}

CO_TEST(Wakes, KeepSandboxesApart) {
  Wakes wakes{executor, {}};
  SlowStart one{executor};
  SlowStart other{executor};
  HeldClient client{executor};
  TaskGroup group{executor};
  std::vector<std::string> outcomes;
  group.spawn("wake", wake_into(&wakes, {"t", "a"}, one.start(), &client, &outcomes));
  group.spawn("wake", wake_into(&wakes, {"u", "a"}, other.start(), &client, &outcomes));
  EXPECT_EQ(one.begun + other.begun, 2);
  one.end({});
  other.end(fail(Errc::sandbox_not_found, "gone"));
  co_await group.join();
  std::ranges::sort(outcomes);
  EXPECT_EQ(outcomes, (std::vector<std::string>{"ok", "sandbox_not_found"}));
}

CO_TEST(Wakes, HoldNobodyForEver) {
  Wakes wakes{executor, {.patience = 5ms}};
  SlowStart slow{executor};
  HeldClient client{executor};
  auto late = co_await wakes.wake({"t", "a"}, slow.start(), HeldClient::left(&client));
  EXPECT_EQ(word_of(late), "sandbox_starting");
  EXPECT_EQ(wakes.starting(), 1u) << "the start goes on";
  EXPECT_EQ(wakes.waiting(), 0u);
  slow.end({});
  auto next = co_await wakes.wake({"t", "a"}, slow.start(), HeldClient::left(&client));
  EXPECT_TRUE(next.has_value());
  co_await wakes.stop();
}

CO_TEST(Wakes, HaveBounds) {
  Wakes wakes{executor, {.waiting = 4, .at_once = 1}};
  SlowStart slow{executor};
  HeldClient client{executor};
  TaskGroup group{executor};
  std::vector<std::string> outcomes;
  group.spawn("wake", wake_into(&wakes, {"t", "a"}, slow.start(), &client, &outcomes));
  auto other = co_await wakes.wake({"t", "b"}, slow.start(), HeldClient::left(&client));
  EXPECT_EQ(word_of(other), "sandbox_starting") << "so many are started at once";
  group.spawn("wake", wake_into(&wakes, {"t", "a"}, slow.start(), &client, &outcomes));
  auto third = co_await wakes.wake({"t", "a"}, slow.start(), HeldClient::left(&client));
  EXPECT_EQ(word_of(third), "sandbox_starting") << "so many wait";
  EXPECT_EQ(slow.begun, 1);
  slow.end({});
  co_await group.join();
  EXPECT_EQ(outcomes, std::vector<std::string>(2, "ok"));
}

CO_TEST(Wakes, OfOneTenantLeaveRoomForTheNext) {
  Wakes wakes{executor, {.at_once = 4}};
  SlowStart hangs{executor};
  SlowStart works{executor};
  works.outcome = Result<>{};
  HeldClient client{executor};
  TaskGroup group{executor};
  std::vector<std::string> outcomes;
  for (const char* sandbox : {"a", "b", "c", "d"}) {
    group.spawn("wake", wake_into(&wakes, {"t", sandbox}, hangs.start(), &client, &outcomes));
  }
  EXPECT_EQ(hangs.begun, 2);
  EXPECT_EQ(outcomes, std::vector<std::string>(2, "sandbox_starting"));
  auto other = co_await wakes.wake({"u", "a"}, works.start(), HeldClient::left(&client));
  EXPECT_TRUE(other.has_value());
  hangs.end({});
  co_await group.join();
  EXPECT_EQ(wakes.tenants(), 0u);
}

CO_TEST(Wakes, HoldRequestsOfOneTenantAndLeaveRoomForTheNext) {
  Wakes wakes{executor, {.waiting = 4}};
  SlowStart hangs{executor};
  SlowStart works{executor};
  works.outcome = Result<>{};
  HeldClient client{executor};
  TaskGroup group{executor};
  std::vector<std::string> outcomes;
  for (int i = 0; i < 4; ++i) {
    group.spawn("wake", wake_into(&wakes, {"t", "a"}, hangs.start(), &client, &outcomes));
  }
  EXPECT_EQ(wakes.waiting(), 2u);
  EXPECT_EQ(outcomes, std::vector<std::string>(2, "sandbox_starting"));
  auto other = co_await wakes.wake({"u", "a"}, works.start(), HeldClient::left(&client));
  EXPECT_TRUE(other.has_value());
  hangs.end({});
  co_await group.join();
  EXPECT_EQ(wakes.tenants(), 0u);
}

CO_TEST(Wakes, GoOnWhenWhoHasAskedFirstLeaves) {
  Wakes wakes{executor, {}};
  SlowStart slow{executor};
  HeldClient first{executor};
  HeldClient second{executor};
  TaskGroup group{executor};
  std::vector<std::string> outcomes;
  group.spawn("wake", wake_into(&wakes, {"t", "a"}, slow.start(), &first, &outcomes));
  TaskGroup others{executor};
  others.spawn("wake", wake_into(&wakes, {"t", "a"}, slow.start(), &second, &outcomes));
  first.leave();
  co_await group.join();
  EXPECT_EQ(outcomes, std::vector<std::string>{"cancelled"});
  EXPECT_EQ(wakes.waiting(), 1u);
  slow.end({});
  co_await others.join();
  EXPECT_EQ(outcomes.back(), "ok");
  EXPECT_EQ(slow.begun, 1);
}

CO_TEST(Wakes, EndWithTheServer) {
  Wakes wakes{executor, {}};
  SlowStart slow{executor};
  HeldClient client{executor};
  TaskGroup group{executor};
  std::vector<std::string> outcomes;
  group.spawn("wake", wake_into(&wakes, {"t", "a"}, slow.start(), &client, &outcomes));
  co_await wakes.stop();
  co_await group.join();
  EXPECT_EQ(outcomes, std::vector<std::string>{"sandbox_starting"});
  EXPECT_EQ(wakes.starting(), 0u);
}

}  // namespace
}  // namespace skiff::container::serve
