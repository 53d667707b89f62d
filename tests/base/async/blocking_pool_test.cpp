#include "base/async/blocking_pool.hpp"

#include <pthread.h>
#include <sys/syscall.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <latch>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>

#include "base/async/task_group.hpp"
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

TEST(BlockingPool, WorksWithOneThreadIfNoMoreCanStart) {
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

TEST(BlockingPool, ThrowsWithoutAnyThread) {
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
  // Each job waits for the other two, so this ends only if all three run at the same time.
  std::latch all_here{3};
  TaskGroup group{executor};
  for (int i = 0; i < 3; ++i) group.spawn("job", meet(pool, all_here));
  co_await group.join();
}

TEST(BlockingPool, StartsAThreadWhenIdleOnesAreTooFew) {
  // Jobs that are posted together find the same idle threads. The scheduler decides when these are idle, so try several
  // times, each later than the one before.
  for (int times = 0; times < 30; ++times) {
    std::latch ran{1};
    std::mutex mutex;
    std::condition_variable came;
    int here = 0;
    int met = 0;
    {
      BlockingPool pool{"test-pool", 3};
      pool.post([&] { ran.count_down(); });
      ran.wait();
      for (int moments = 0; moments < 20 * times; ++moments) std::this_thread::yield();
      for (int i = 0; i < 3; ++i) {
        pool.post([&] {
          std::unique_lock lock{mutex};
          ++here;
          came.notify_all();
          if (came.wait_for(lock, test::kReactorLimit, [&] { return here == 3; })) ++met;
        });
      }
    }
    ASSERT_EQ(met, 3) << "one waited for the end of another";
  }
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

using Aside = BlockingPool::Aside;
using Return = BlockingPool::Return;

TEST(BlockingPool, RunsAnotherJobWhileOneIsSuspended) {
  std::atomic<int> done = 0;
  std::latch last_one_ran{1};
  {
    BlockingPool pool{"test-pool", 1, 8};
    for (int i = 0; i < 8; ++i) {
      pool.post([&] {
        const Aside aside{BlockingPool::current()};
        last_one_ran.wait();
        ++done;
      });
    }
    pool.post([&] { last_one_ran.count_down(); });
  }
  EXPECT_EQ(done, 8);
}

TEST(BlockingPool, LetsAJobSuspendOnAnyThread) {
  std::latch other_ran{1};
  {
    BlockingPool pool{"test-pool", 1, 1};
    pool.post([&] {
      std::thread{[&] {
        EXPECT_EQ(BlockingPool::current(), nullptr);
        const Aside aside{&pool};
        other_ran.wait();
      }}.join();
    });
    pool.post([&] { other_ran.count_down(); });
  }
  EXPECT_TRUE(other_ran.try_wait());
}

TEST(BlockingPool, KeepsItsLimitWhenJobsResume) {
  constexpr int kAside = 40;
  std::latch all_aside{kAside};
  std::atomic<int> running = 0, most = 0, done = 0;
  const auto work = [&] {
    const int now = ++running;
    for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
    }
    std::this_thread::yield();
    --running;
    ++done;
  };
  {
    BlockingPool pool{"test-pool", 2, kAside};
    for (int i = 0; i < kAside; ++i) {
      pool.post([&] {
        {
          const Aside aside{BlockingPool::current(), Return::in_turn};
          all_aside.arrive_and_wait();
        }
        work();
      });
    }
    for (int i = 0; i < 1000; ++i) pool.post(work);
  }
  EXPECT_EQ(done, kAside + 1000);
  EXPECT_LE(most, 2);
}

TEST(BlockingPool, AdmitsJobsUntilItIsCrowded) {
  std::latch first_is_aside{1}, over{1};
  std::atomic<bool> crowded_at_first = true, crowded_then = false;
  BlockingPool pool{"test-pool", 1, 1};
  pool.post([&] {
    crowded_at_first = pool.crowded();
    const Aside aside{&pool};
    first_is_aside.count_down();
    over.wait();
  });
  first_is_aside.wait();
  pool.post([&] {
    crowded_then = pool.crowded();
    const Aside without_a_place{&pool};
    over.count_down();
  });
  over.wait();
  EXPECT_FALSE(crowded_at_first);
  EXPECT_TRUE(crowded_then);
}

std::size_t threads_of_name(std::string_view name) {
  std::size_t count = 0;
  for (const auto& task : std::filesystem::directory_iterator{"/proc/self/task"}) {
    std::ifstream file{task.path() / "comm"};
    std::string found;
    std::getline(file, found);
    if (found == name) ++count;
  }
  return count;
}

TEST(BlockingPool, EndsThreadsThatFindNothingToDo) {
  constexpr int kAside = 20;
  BlockingPool pool{"test-aside", 1, kAside};
  std::latch all_aside{kAside};
  for (int i = 0; i < kAside; ++i) {
    pool.post([&] {
      const Aside aside{&pool};
      all_aside.arrive_and_wait();
    });
  }
  all_aside.wait();
  while (threads_of_name("test-aside") > 1) std::this_thread::yield();
}

TEST(BlockingPool, ResumesAJobIfNoThreadCanStart) {
  const auto body = [] {
    std::atomic<int> done = 0;
    {
      BlockingPool pool{"test-pool", 1, 3};
      test::refuse_syscall(SYS_clone3, EAGAIN);
      test::refuse_syscall(SYS_clone, EAGAIN);
      for (int i = 0; i < 10; ++i) {
        pool.post([&] {
          {
            const Aside aside{&pool, Return::in_turn};
          }
          {
            const Aside aside{&pool, Return::in_turn};
          }
          ++done;
        });
      }
    }
    return done == 10 ? 0 : 1;
  };
  EXPECT_EQ(test::status_in_child(body), 0);
}

TEST(BlockingPool, RunsEveryJobAtItsEndDespiteSuspendedOnes) {
  std::atomic<int> done = 0;
  for (int round = 0; round < 20; ++round) {
    BlockingPool pool{"test-pool", 3, 5};
    for (int i = 0; i < 100; ++i) {
      pool.post([&, i] {
        for (int turn = 0; turn < i % 4; ++turn) {
          const Aside aside{&pool, i % 3 == 0 ? Return::at_once : Return::in_turn};
          std::this_thread::yield();
        }
        ++done;
      });
    }
  }
  EXPECT_EQ(done, 2000);
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
