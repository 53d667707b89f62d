#include "container/launcher/in_parallel.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/event.hpp"
#include "base/task_group.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container {
namespace {

/// Work that goes on only when it is told to.
struct Gate {
  explicit Gate(Executor executor) : opened{executor} {}
  Event opened;
  std::set<std::size_t> begun;
  std::size_t at_work = 0;
  std::size_t most_at_work = 0;

  Task<> work(std::size_t index) {
    begun.insert(index);
    most_at_work = std::max(most_at_work, ++at_work);
    co_await opened.wait();
    --at_work;
  }
};

CO_TEST(InParallel, RunsAllAndNeverMoreAtATimeThanIsAllowed) {
  Gate gate{executor};
  TaskGroup group{executor};
  group.spawn("all", in_parallel(7, 3, [&gate](std::size_t index) { return gate.work(index); }));
  EXPECT_EQ(gate.begun.size(), 3u);
  while (!group.empty()) {
    gate.opened.notify_one();
    co_await boost::asio::post(executor, use_task);
  }
  EXPECT_EQ(gate.begun, (std::set<std::size_t>{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(gate.most_at_work, 3u);
}

CO_TEST(InParallel, EndsAtOnceWhenThereIsNothingToDo) {
  Gate gate{executor};
  co_await in_parallel(0, 3, [&gate](std::size_t index) { return gate.work(index); });
  EXPECT_TRUE(gate.begun.empty());
}

CO_TEST(InParallel, EndsItsWorkWhenTheCallerIsCancelled) {
  Gate gate{executor};
  TaskGroup group{executor};
  group.spawn("all", in_parallel(7, 3, [&gate](std::size_t index) { return gate.work(index); }));
  group.cancel();
  co_await group.join();
  EXPECT_EQ(gate.begun.size(), 3u) << "what had not begun was begun all the same";
  EXPECT_FALSE(gate.opened.awaited()) << "something still works";
}

}  // namespace
}  // namespace skiff::container
