#include "base/async/in_parallel.hpp"

#include <gtest/gtest.h>

#include <set>

#include "base/async/task_group.hpp"
#include "tests/support/gated_work.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff {
namespace {

using test::GatedWork;

CO_TEST(InParallel, RunsAllAndNeverMoreAtATimeThanIsAllowed) {
  GatedWork gate{executor};
  TaskGroup group{executor};
  group.spawn("all", in_parallel(7, 3, [&gate](std::size_t index) { return gate.run(index); }));
  EXPECT_EQ(gate.begun.size(), 3u);
  while (!group.empty()) {
    gate.opened.notify_one();
    co_await boost::asio::post(executor, use_task);
  }
  EXPECT_EQ(gate.begun, (std::set<std::size_t>{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(gate.most_at_work, 3u);
}

CO_TEST(InParallel, EndsAtOnceWhenThereIsNothingToDo) {
  GatedWork gate{executor};
  co_await in_parallel(0, 3, [&gate](std::size_t index) { return gate.run(index); });
  EXPECT_TRUE(gate.begun.empty());
}

CO_TEST(InParallel, EndsItsWorkWhenTheCallerIsCancelled) {
  GatedWork gate{executor};
  TaskGroup group{executor};
  group.spawn("all", in_parallel(7, 3, [&gate](std::size_t index) { return gate.run(index); }));
  group.cancel();
  co_await group.join();
  EXPECT_EQ(gate.begun.size(), 3u) << "what had not begun was begun all the same";
  EXPECT_FALSE(gate.opened.awaited()) << "something still works";
}

}  // namespace
}  // namespace skiff
