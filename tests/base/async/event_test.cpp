#include "base/async/event.hpp"

#include <memory>

#include <boost/asio/post.hpp>

#include "base/async/task_group.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff {
namespace {

Task<> count_wakes(Event& event, int& count) {
  co_await event.wait();
  ++count;
}

Task<> record_end(Event& event, bool& aborted) {
  try {
    co_await event.wait();
  } catch (const boost::system::system_error& error) {
    aborted = error.code() == boost::asio::error::operation_aborted;
  }
}

CO_TEST(Event, WakesEveryWaiterButNotInsideTheCall) {
  Event event{executor};
  TaskGroup group{executor};
  int woken = 0;
  for (int i = 0; i < 3; ++i) group.spawn("waiter", count_wakes(event, woken));
  EXPECT_TRUE(event.awaited());
  event.notify_all();
  EXPECT_EQ(woken, 0);
  EXPECT_FALSE(event.awaited());
  co_await group.join();
  EXPECT_EQ(woken, 3);
}

CO_TEST(Event, WakesTheOneThatHasWaitedLongest) {
  Event event{executor};
  TaskGroup group{executor};
  event.notify_one();
  int first = 0;
  int second = 0;
  group.spawn("waiter", count_wakes(event, first));
  group.spawn("waiter", count_wakes(event, second));
  event.notify_one();
  EXPECT_EQ(event.waiting(), 1U);
  while (first == 0) co_await boost::asio::post(use_task);
  EXPECT_EQ(second, 0);
  event.notify_one();
  co_await group.join();
  EXPECT_EQ(second, 1);
}

CO_TEST(Event, KeepsNoStateForLaterWaiters) {
  Event event{executor};
  TaskGroup group{executor};
  int woken = 0;
  event.notify_all();
  group.spawn("waiter", count_wakes(event, woken));
  EXPECT_TRUE(event.awaited());
  event.notify_all();
  co_await group.join();
  EXPECT_EQ(woken, 1);
}

CO_TEST(Event, EndsAWaitThatIsCancelled) {
  Event event{executor};
  TaskGroup group{executor};
  bool aborted = false;
  int woken = 0;
  group.spawn("cancelled", record_end(event, aborted));
  group.cancel();
  EXPECT_FALSE(event.awaited());
  co_await group.join();
  EXPECT_TRUE(aborted);

  group.spawn("waiter", count_wakes(event, woken));
  event.notify_all();
  co_await group.join();
  EXPECT_EQ(woken, 1);
}

CO_TEST(Event, EndsItsWaitsWhenItIsDestroyed) {
  auto event = std::make_unique<Event>(executor);
  TaskGroup group{executor};
  bool aborted = false;
  group.spawn("waiter", record_end(*event, aborted));
  event.reset();
  co_await group.join();
  EXPECT_TRUE(aborted);
}

CO_TEST(Event, IsNotCancelledTwiceWhenItWasNotifiedFirst) {
  Event event{executor};
  TaskGroup group{executor};
  bool aborted = false;
  group.spawn("waiter", record_end(event, aborted));
  event.notify_all();
  // The wake-up is pending; the cancellation finds no waiter in the event.
  group.cancel();
  co_await group.join();
  EXPECT_FALSE(event.awaited());
  EXPECT_FALSE(aborted);
}

}  // namespace
}  // namespace skiff
