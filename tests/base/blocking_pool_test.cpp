#include "base/blocking_pool.hpp"

#include <pthread.h>
#include <sys/syscall.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <latch>
#include <new>
#include <string>
#include <system_error>
#include <thread>

#include "base/task_group.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff {
namespace {

CO_TEST(BlockingPool, RunsWorkOnAnotherThreadAndComesBackToTheReactor) {
  BlockingPool pool{"test-pool", 1};
  const auto reactor = std::this_thread::get_id();
  auto work = [] { return std::this_thread::get_id(); };
  const std::thread::id worker = co_await pool.run(work);
  EXPECT_NE(worker, reactor);
  EXPECT_EQ(std::this_thread::get_id(), reactor);
}

CO_TEST(BlockingPool, ThrowsAtTheCallerWhatTheWorkThrows) {
  BlockingPool pool{"test-pool", 1};
  auto greedy = []() -> int { throw std::bad_alloc{}; };
  bool thrown = false;
  try {
    co_await pool.run(greedy);
  } catch (const std::bad_alloc&) {
    thrown = true;
  }
  EXPECT_TRUE(thrown);
  auto modest = [] { return 7; };
  EXPECT_EQ(co_await pool.run(modest), 7) << "the thread is still there";
}

TEST(BlockingPool, DoesWithItsFirstThreadWhereThereAreNoMore) {
  const auto body = [] {
    std::atomic<int> done = 0;
    {
      BlockingPool pool{"test-pool", 3};
      test::refuse_syscall(SYS_clone3, EAGAIN);
      test::refuse_syscall(SYS_clone, EAGAIN);
      for (int i = 0; i < 10; ++i) pool.post([&] { ++done; });
    }
    return done == 10 ? 0 : 1;
  };
  EXPECT_EQ(test::status_in_child(body), 0);
}

TEST(BlockingPool, IsNotMadeWithoutAThread) {
  const auto body = [] {
    test::refuse_syscall(SYS_clone3, EAGAIN);
    test::refuse_syscall(SYS_clone, EAGAIN);
    try {
      const BlockingPool pool{"test-pool", 3};
    } catch (const std::system_error& error) {
      return error.code() == std::errc::resource_unavailable_try_again ? 0 : 1;
    }
    return 2;
  };
  EXPECT_EQ(test::status_in_child(body), 0);
}

Task<> meet(BlockingPool& pool, std::latch& all_here) {
  auto work = [&] {
    all_here.arrive_and_wait();
    return true;
  };
  EXPECT_TRUE(co_await pool.run(work));
}

CO_TEST(BlockingPool, RunsAsManyJobsAtOnceAsItMayHaveThreads) {
  BlockingPool pool{"test-pool", 3};
  // Each job waits for the two others, so this ends only if all three run at the same time.
  std::latch all_here{3};
  TaskGroup group{executor};
  for (int i = 0; i < 3; ++i) group.spawn("job", meet(pool, all_here));
  co_await group.join();
}

Task<> finish_anyway(BlockingPool& pool, std::latch& go, std::string& told) {
  auto work = [&] {
    go.wait();
    return std::string{"done"};
  };
  told = co_await pool.run(work);
}

CO_TEST(BlockingPool, IsNotInterruptedByCancellation) {
  BlockingPool pool{"test-pool", 1};
  std::latch go{1};
  std::string told;
  TaskGroup group{executor};
  group.spawn("job", finish_anyway(pool, go, told));
  group.cancel();
  EXPECT_EQ(group.size(), 1U);
  go.count_down();
  co_await group.join();
  EXPECT_EQ(told, "done");
}

TEST(BlockingPool, RunsEveryPostedJobBeforeItEnds) {
  std::atomic<int> done = 0;
  {
    BlockingPool pool{"test-pool", 2};
    for (int i = 0; i < 1000; ++i) pool.post([&] { ++done; });
  }
  EXPECT_EQ(done, 1000);
}

CO_TEST(BlockingPool, HasThreadsWithANameAndNoSignals) {
  BlockingPool pool{"test-pool", 1};
  struct Seen {
    std::string name;
    bool blocked;
  };
  auto look = [] {
    std::array<char, 16> name{};
    pthread_getname_np(pthread_self(), name.data(), name.size());
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    return Seen{name.data(), sigismember(&mask, SIGTERM) == 1 && sigismember(&mask, SIGCHLD) == 1};
  };
  const Seen seen = co_await pool.run(look);
  EXPECT_EQ(seen.name, "test-pool");
  EXPECT_TRUE(seen.blocked);
}

}  // namespace
}  // namespace skiff
