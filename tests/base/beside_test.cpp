#include "base/beside.hpp"

#include <gtest/gtest.h>

#include <boost/asio/post.hpp>

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

CO_TEST(RunBeside, LeavesItsCallerToBeCancelledAfterwards) {
  Event never{executor};
  bool went_on = false;
  TaskGroup group{executor};
  group.spawn("caller", wait_afterwards(&never, &went_on));
  while (never.waiting() != 1 || group.empty()) co_await boost::asio::post(executor, use_task);
  // Both waits look the same: the second is there when the first has gone.
  for (int turn = 0; turn < 10; ++turn) co_await boost::asio::post(executor, use_task);
  group.cancel();
  co_await group.join();
  EXPECT_FALSE(went_on);
}

}  // namespace
}  // namespace skiff
