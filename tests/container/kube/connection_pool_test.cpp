#include "container/kube/connection_pool.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <vector>

#include <boost/asio/post.hpp>

#include "base/async/event.hpp"
#include "base/async/task_group.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::kube {
namespace {

/// Clients that never connect: the pool doesn't look at them.
ConnectionPool::Make making(Executor executor, int* made) {
  return [executor, made] {
    ++*made;
    return std::make_unique<protocol::HttpClient>(executor, protocol::HttpClientOptions{.host = "127.0.0.1"});
  };
}

CO_TEST(ConnectionPool, KeepsWhatWasReadToItsEnd) {
  int made = 0;
  ConnectionPool pool{executor, 4, making(executor, &made)};
  {
    auto lease = co_await pool.lease();
    lease.keep();
  }
  EXPECT_EQ(pool.idle(), 1u);
  {
    auto lease = co_await pool.lease();
    EXPECT_EQ(pool.idle(), 0u);
  }
  EXPECT_EQ(made, 1);
  EXPECT_EQ(pool.idle(), 0u) << "its answer was not read to the end";
  EXPECT_EQ(pool.in_use(), 0u);
}

Task<> take_turn(ConnectionPool* pool, std::vector<int>* turns, int number) {
  auto lease = co_await pool->lease();
  turns->push_back(number);
}

CO_TEST(ConnectionPool, LetsThoseWhoWaitIntoItInTheirOrder) {
  int made = 0;
  std::vector<int> turns;
  ConnectionPool pool{executor, 1, making(executor, &made)};
  std::optional<ConnectionPool::Lease> held = co_await pool.lease();
  TaskGroup group{executor};
  for (int i = 0; i < 5; ++i) group.spawn("take", take_turn(&pool, &turns, i));
  EXPECT_EQ(pool.in_use(), 1u);
  held.reset();
  co_await group.join();
  EXPECT_EQ(turns, (std::vector<int>{0, 1, 2, 3, 4}));
  EXPECT_EQ(pool.in_use(), 0u);
}

CO_TEST(ConnectionPool, GoesOnWhenOneWhoWaitsGivesUp) {
  int made = 0;
  std::vector<int> turns;
  ConnectionPool pool{executor, 1, making(executor, &made)};
  std::optional<ConnectionPool::Lease> held = co_await pool.lease();
  TaskGroup first{executor};
  TaskGroup second{executor};
  first.spawn("take", take_turn(&pool, &turns, 1));
  second.spawn("take", take_turn(&pool, &turns, 2));
  // The first is woken and cancelled in the same moment.
  held.reset();
  first.cancel();
  co_await first.join();
  co_await second.join();
  EXPECT_EQ(turns.back(), 2);
  EXPECT_EQ(pool.in_use(), 0u);
}

Task<> stay_inside(ConnectionPool* pool, int* inside, Event* leave) {
  auto lease = co_await pool->lease();
  ++*inside;
  co_await leave->wait();
}

CO_TEST(ConnectionPool, LetsInAsManyAsHaveLeft) {
  int made = 0;
  ConnectionPool pool{executor, 2, making(executor, &made)};
  std::optional<ConnectionPool::Lease> one = co_await pool.lease();
  std::optional<ConnectionPool::Lease> two = co_await pool.lease();
  int inside = 0;
  Event leave{executor};
  TaskGroup group{executor};
  for (int i = 0; i < 2; ++i) group.spawn("stay", stay_inside(&pool, &inside, &leave));
  // Both before the first who waits gets its turn.
  one.reset();
  two.reset();
  for (int turns = 0; turns < 100; ++turns) co_await boost::asio::post(use_task);
  EXPECT_EQ(inside, 2);
  while (group.size() > 0) {
    leave.notify_all();
    co_await boost::asio::post(use_task);
  }
}

CO_TEST(ConnectionPool, ForgetsConnectionsFromBeforeARenewal) {
  int made = 0;
  ConnectionPool pool{executor, 2, making(executor, &made)};
  {
    auto one = co_await pool.lease();
    auto two = co_await pool.lease();
    one.keep();
    two.keep();
    pool.renew();
  }
  EXPECT_EQ(pool.idle(), 0u);
  {
    auto again = co_await pool.lease();
    again.keep();
  }
  EXPECT_EQ(made, 3);
  EXPECT_EQ(pool.idle(), 1u);
}

}  // namespace
}  // namespace skiff::kube
