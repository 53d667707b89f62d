#include "base/async/task_group.hpp"

#include <stdexcept>
#include <string>

#include <gmock/gmock.h>
#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>

#include "base/async/event.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff {
namespace {

Task<> wait_and_mark(Event& event, bool& ended) {
  struct AtEnd {
    bool& flag;
    ~AtEnd() { flag = true; }
  } const at_end{ended};
  co_await event.wait();
}

Task<> set(bool& flag) {
  flag = true;
  co_return;
}

Task<> throw_it(Event& event) {
  co_await event.wait();
  throw std::runtime_error{"out of luck"};
}

CO_TEST(TaskGroup, StartsATaskInsideTheCall) {
  TaskGroup group{executor};
  bool started = false;
  group.spawn("setter", set(started));
  EXPECT_TRUE(started);
  co_await group.join();
  EXPECT_TRUE(group.empty());
}

CO_TEST(TaskGroup, MayBeCancelledTwice) {
  Event never{executor};
  TaskGroup group{executor};
  bool ended = false;
  group.spawn("waiter", wait_and_mark(never, ended));
  group.cancel();
  group.cancel();
  co_await group.join();
  EXPECT_TRUE(ended);
}

CO_TEST(TaskGroup, CancelsAndJoinsItsTasks) {
  Event never{executor};
  TaskGroup group{executor};
  bool first = false;
  bool second = false;
  group.spawn("first", wait_and_mark(never, first));
  group.spawn("second", wait_and_mark(never, second));
  EXPECT_EQ(group.size(), 2U);
  group.cancel();
  co_await group.join();
  EXPECT_TRUE(first);
  EXPECT_TRUE(second);
  EXPECT_TRUE(group.empty());
}

CO_TEST(TaskGroup, LetsTheOthersRunWhenOneFailsAndLogsItsName) {
  Event go{executor};
  Event later{executor};
  TaskGroup group{executor};
  bool ended = false;
  group.spawn("unlucky", throw_it(go));
  group.spawn("other", wait_and_mark(later, ended));
  ::testing::internal::CaptureStderr();
  go.notify_all();
  while (group.size() == 2) co_await boost::asio::post(executor, use_task);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              ::testing::AllOf(::testing::HasSubstr("unlucky"), ::testing::HasSubstr("out of luck")));
  EXPECT_FALSE(ended);
  later.notify_all();
  co_await group.join();
  EXPECT_TRUE(ended);
}

CO_TEST(TaskGroup, DoesNotCallACancellationAFailure) {
  Event never{executor};
  TaskGroup group{executor};
  bool ended = false;
  group.spawn("cancelled", wait_and_mark(never, ended));
  ::testing::internal::CaptureStderr();
  group.cancel();
  co_await group.join();
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

CO_TEST(TaskGroup, JoinsAtOnceWhenItIsEmpty) {
  TaskGroup group{executor};
  co_await group.join();
  EXPECT_EQ(group.size(), 0U);
}

Task<> join_group(TaskGroup* group, int* aborted) {
  try {
    co_await group->join();
  } catch (const boost::system::system_error& error) {
    *aborted += error.code() == boost::asio::error::operation_aborted ? 1 : 0;
  }
}

CO_TEST(TaskGroup, ACancelledCallerStopsWaitingForTasks) {
  Event never{executor};
  TaskGroup group{executor};
  bool ended = false;
  group.spawn("waiter", wait_and_mark(never, ended));
  TaskGroup callers{executor};
  int aborted = 0;
  callers.spawn("caller", join_group(&group, &aborted));
  callers.cancel();
  co_await callers.join();
  EXPECT_EQ(aborted, 1);
  EXPECT_EQ(group.size(), 1U);
  group.cancel();
  co_await group.join();
}

TEST(TaskGroupDeathTest, AbortsWhenItIsDestroyedWithLiveTasks) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        boost::asio::io_context io;
        Event never{io.get_executor()};
        bool ended = false;
        TaskGroup group{io.get_executor()};
        group.spawn("left", wait_and_mark(never, ended));
      },
      "destroyed with live tasks");
}

}  // namespace
}  // namespace skiff
