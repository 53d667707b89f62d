#include "base/in_parallel.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/event.hpp"
#include "base/task_group.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff {
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

Task<> pass(Turnstile* turnstile, Gate* gate, std::size_t index) {
  const Turnstile::Place place = co_await turnstile->enter();
  co_await gate->work(index);
}

CO_TEST(Turnstile, LetsSoManyInAndTheNextOnesInTheirOrder) {
  Gate gate{executor};
  Turnstile turnstile{executor, 2};
  TaskGroup group{executor};
  for (std::size_t i = 0; i < 5; ++i) group.spawn("one", pass(&turnstile, &gate, i));
  EXPECT_EQ(gate.begun, (std::set<std::size_t>{0, 1}));
  gate.opened.notify_one();
  while (gate.begun.size() < 3) co_await boost::asio::post(executor, use_task);
  EXPECT_EQ(gate.begun, (std::set<std::size_t>{0, 1, 2}));
  while (!group.empty()) {
    gate.opened.notify_all();
    co_await boost::asio::post(executor, use_task);
  }
  EXPECT_EQ(gate.most_at_work, 2u);
}

CO_TEST(Turnstile, GivesThePlaceOfOneThatIsCancelledToTheNext) {
  Gate gate{executor};
  Turnstile turnstile{executor, 1};
  TaskGroup first{executor};
  TaskGroup second{executor};
  TaskGroup third{executor};
  first.spawn("first", pass(&turnstile, &gate, 1));
  second.spawn("second", pass(&turnstile, &gate, 2));
  third.spawn("third", pass(&turnstile, &gate, 3));
  second.cancel();
  co_await second.join();
  first.cancel();
  co_await first.join();
  while (gate.begun.size() < 2) co_await boost::asio::post(executor, use_task);
  EXPECT_EQ(gate.begun, (std::set<std::size_t>{1, 3}));
  gate.opened.notify_all();
  co_await third.join();
}

}  // namespace
}  // namespace skiff
