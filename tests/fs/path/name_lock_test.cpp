#include "fs/path/name_lock.hpp"

#include <fcntl.h>

#include <atomic>
#include <latch>
#include <thread>
#include <utility>

#include "base/async/blocking_pool.hpp"
#include "tests/support/files_test.hpp"

namespace skiff::fs {
namespace {

NameKey key(std::string name, ino_t directory = 1) {
  return {.device = 0, .directory = directory, .name = std::move(name)};
}

std::vector<NameKey> keys(std::initializer_list<const char*> names) {
  std::vector<NameKey> made;
  for (const char* name : names) made.push_back(key(name));
  return made;
}

TEST(NameLock, AdmitsOneHolderAtATime) {
  int inside = 0;  // not atomic on purpose: the lock protects it
  int entered = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 500; ++round) {
        const NameLock lock{keys({"a"})};
        EXPECT_EQ(inside++, 0);
        ++entered;
        --inside;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(entered, 4000);
}

TEST(NameLock, SuspendsWaitingJobsOfAPool) {
  std::atomic<int> done = 0;
  {
    std::latch other_ran{1};
    BlockingPool pool{"test-names", 1, 8};
    {
      const NameLock held{keys({"a"})};
      for (int i = 0; i < 8; ++i) {
        pool.post([&] {
          const NameLock lock{keys({"a"})};
          ++done;
        });
      }
      pool.post([&] { other_ran.count_down(); });
      other_ran.wait();
      EXPECT_EQ(done, 0);
    }
  }
  EXPECT_EQ(done, 8);
}

TEST(NameLock, DoesNotBlockOtherNames) {
  const NameLock one{keys({"a"})};
  const NameLock other{keys({"b"})};
  const NameLock elsewhere{{key("a", 2)}};
}

TEST(NameLock, TakesSeveralInAnyOrderWithoutADeadlock) {
  std::atomic<int> done = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 500; ++round) {
        const NameLock lock{i % 2 == 0 ? keys({"a", "b", "c"}) : keys({"c", "b", "a"})};
        ++done;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(done, 2000);
}

TEST(NameLock, LocksARepeatedNameOnce) {
  {
    const NameLock lock{keys({"a", "a"})};
  }
  const NameLock again{keys({"a"})};
}

TEST(NameLock, IsReleasedOnceAfterAMove) {
  NameLock first{keys({"a"})};
  {
    const NameLock second{std::move(first)};
  }
  const NameLock again{keys({"a"})};
}

class NameKeyTest : public test::Files {};

TEST_F(NameKeyTest, IsTheDirectoryItselfNotThePathToIt) {
  const UniqueFd directory{::open(root.c_str(), O_PATH | O_CLOEXEC)};
  const UniqueFd again{::open((outside / "../root").c_str(), O_PATH | O_CLOEXEC)};
  const UniqueFd other{::open(outside.c_str(), O_PATH | O_CLOEXEC)};
  EXPECT_EQ(key_of(directory.get(), "x").value(), key_of(again.get(), "x").value());
  EXPECT_NE(key_of(directory.get(), "x").value(), key_of(other.get(), "x").value());
}

}  // namespace
}  // namespace skiff::fs
