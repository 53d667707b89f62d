#include "base/async/semaphore.hpp"

#include <gtest/gtest.h>

#include <set>

#include "base/async/task_group.hpp"
#include "tests/support/gated_work.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff {
namespace {

using test::GatedWork;

Task<> pass(Semaphore* semaphore, GatedWork* gate, std::size_t index) {
  const Semaphore::Permit permit = co_await semaphore->acquire();
  co_await gate->run(index);
}

CO_TEST(Semaphore, AdmitsUpToItsLimitAndThenInOrder) {
  GatedWork gate{executor};
  Semaphore semaphore{executor, 2};
  TaskGroup group{executor};
  for (std::size_t i = 0; i < 5; ++i) group.spawn("one", pass(&semaphore, &gate, i));
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

CO_TEST(Semaphore, PassesACancelledWaitersPermitToTheNext) {
  GatedWork gate{executor};
  Semaphore semaphore{executor, 1};
  TaskGroup first{executor};
  TaskGroup second{executor};
  TaskGroup third{executor};
  first.spawn("first", pass(&semaphore, &gate, 1));
  second.spawn("second", pass(&semaphore, &gate, 2));
  third.spawn("third", pass(&semaphore, &gate, 3));
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
