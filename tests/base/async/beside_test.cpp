#include "base/async/beside.hpp"

#include <gtest/gtest.h>

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/system/system_error.hpp>

#include "tests/support/reactor_test.hpp"

namespace skiff {
namespace {

using test::give;

Task<> wait_for(Event* event) {
  co_await event->wait();
}

Task<> wait_afterwards(Event* never, bool* went_on) {
  (void)co_await run_beside(wait_for(never), give(1));
  co_await never->wait();
  *went_on = true;
}

CO_TEST(RunBeside, EndsTheCompanionWithTheBody) {
  Event never{executor};
  const int given = co_await run_beside(wait_for(&never), give(5));
  EXPECT_EQ(given, 5);
  EXPECT_FALSE(never.awaited());
}

CO_TEST(RunBeside, LetsItsCallerBeCancelledAfterwards) {
  Event never{executor};
  bool went_on = false;
  TaskGroup group{executor};
  group.spawn("caller", wait_afterwards(&never, &went_on));
  while (never.waiting() != 1 || group.empty()) co_await boost::asio::post(executor, use_task);
  // Both waits look alike: the second has begun when the first has ended.
  for (int turn = 0; turn < 10; ++turn) co_await boost::asio::post(executor, use_task);
  group.cancel();
  co_await group.join();
  EXPECT_FALSE(went_on);
}

/// When it is cancelled, it ends at `release`.
Task<> end_slowly(Event* never, Event* release) {
  bool cancelled = false;
  try {
    co_await never->wait();
  } catch (const boost::system::system_error&) {
    cancelled = true;
  }
  EXPECT_TRUE(cancelled);
  co_await boost::asio::this_coro::reset_cancellation_state(boost::asio::disable_cancellation());
  co_await release->wait();
}

Task<> wait_beside(Event* never, Event* release, bool* went_on) {
  (void)co_await run_beside(end_slowly(never, release), give(1));
  co_await never->wait();
  *went_on = true;
}

CO_TEST(RunBeside, JoinsTheCompanionOfACancelledCaller) {
  Event never{executor};
  Event release{executor};
  bool went_on = false;
  TaskGroup group{executor};
  group.spawn("caller", wait_beside(&never, &release, &went_on));
  while (!release.awaited()) co_await boost::asio::post(executor, use_task);
  for (int times = 0; times < 3; ++times) {
    group.cancel();
    for (int turn = 0; turn < 10; ++turn) co_await boost::asio::post(executor, use_task);
    EXPECT_TRUE(release.awaited()) << "the companion is joined";
  }
  release.notify_all();
  for (int turn = 0; turn < 10; ++turn) co_await boost::asio::post(executor, use_task);
  EXPECT_TRUE(group.empty()) << "the cancellation was not thrown away";
  group.cancel();
  co_await group.join();
  EXPECT_FALSE(went_on);
}

Task<> look_afterwards(Event* never, bool* seen) {
  bool ended = false;
  try {
    co_await run_beside(wait_for(never), wait_for(never));
  } catch (const boost::system::system_error&) {
    ended = true;
  }
  const auto state = co_await boost::asio::this_coro::cancellation_state;
  *seen = ended && state.cancelled() != boost::asio::cancellation_type::none;
}

CO_TEST(RunBeside, KeepsTheCancellationOfItsCaller) {
  Event never{executor};
  bool seen = false;
  TaskGroup group{executor};
  group.spawn("caller", look_afterwards(&never, &seen));
  group.cancel();
  co_await group.join();
  EXPECT_TRUE(seen);
}

}  // namespace
}  // namespace skiff
