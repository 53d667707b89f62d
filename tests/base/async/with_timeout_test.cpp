#include "base/async/with_timeout.hpp"

#include <gtest/gtest.h>

#include "base/async/event.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff {
namespace {

using std::chrono::steady_clock;
using test::give;

Task<int> give_after(Event& event, bool& ended) {
  struct AtEnd {
    bool& flag;
    ~AtEnd() { flag = true; }
  } const at_end{ended};
  co_await event.wait();
  co_return 7;
}

Task<> notify(Event& event) {
  event.notify_all();
  co_return;
}

Task<> wait_within(SteadyTime until, Event& event, bool& ended, bool& went_on) {
  (void)co_await within(until, give_after(event, ended));
  went_on = true;
}

CO_TEST(Within, ReturnsAnImmediateResult) {
  auto result = co_await within(steady_clock::now() + std::chrono::hours{1}, give(5));
  EXPECT_EQ(result, 5);
}

CO_TEST(Within, ReturnsAResultInTime) {
  Event event{executor};
  bool ended = false;
  TaskGroup group{executor};
  auto waiting = within(steady_clock::now() + std::chrono::hours{1}, give_after(event, ended));
  boost::asio::post(executor, [&] { group.spawn("notify", notify(event)); });
  auto result = co_await std::move(waiting);
  EXPECT_EQ(result, 7);
  co_await group.join();
}

CO_TEST(Within, CancelsAndJoinsALateTask) {
  Event never{executor};
  bool ended = false;
  auto result = co_await within(steady_clock::now() + std::chrono::milliseconds{1}, give_after(never, ended));
  EXPECT_FALSE(result);
  EXPECT_TRUE(ended);
  // The caller may still wait, and be cancelled.
  auto again = co_await within(steady_clock::now() + std::chrono::hours{1}, give(3));
  EXPECT_EQ(again, 3);
}

CO_TEST(Within, CancelsTheBodyWithItsCaller) {
  Event never{executor};
  bool ended = false;
  bool went_on = false;
  TaskGroup group{executor};
  group.spawn("waiter", wait_within(steady_clock::now() + std::chrono::hours{1}, never, ended, went_on));
  group.cancel();
  co_await group.join();
  EXPECT_TRUE(ended);
  EXPECT_FALSE(went_on);
}

}  // namespace
}  // namespace skiff
