#include "container/host/file_lock.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/async/task_group.hpp"
#include "tests/support/reactor_test.hpp"
#include "tests/support/temporary_directory.hpp"

namespace skiff::container {
namespace {

using namespace std::chrono_literals;

CO_TEST(FileLock, IsHeldByOneAtATimeForEachName) {
  const test::TemporaryDirectory directory;
  const auto file = directory.path() / "lock";
  EXPECT_FALSE(FileLock::is_held(file, "it"));
  {
    auto held = co_await FileLock::acquire(file, "it", 1s);
    CO_ASSERT_TRUE(held);
    EXPECT_TRUE(FileLock::is_held(file, "it"));
    EXPECT_FALSE(FileLock::is_held(file, "that"));
    auto other = co_await FileLock::acquire(file, "that", 0ms);
    EXPECT_TRUE(other);
    auto second = co_await FileLock::acquire(file, "it", 0ms);
    CO_ASSERT_TRUE(!second);
    EXPECT_EQ(second.error().code, Errc::timeout);
    EXPECT_NE(second.error().message.find("works on \"it\""), std::string::npos);
  }
  EXPECT_FALSE(FileLock::is_held(file, "it"));
}

Task<> take_turns(std::filesystem::path file, int* inside, int* most, int* turns) {
  for (int i = 0; i < 5; ++i) {
    auto held = co_await FileLock::acquire(file, "it", 10s);
    CO_ASSERT_TRUE(held);
    *most = std::max(*most, ++*inside);
    auto nobody_else = co_await FileLock::acquire(file, "it", 0ms);
    EXPECT_FALSE(nobody_else);
    --*inside;
    ++*turns;
  }
}

CO_TEST(FileLock, GoesFromOneToTheNext) {
  const test::TemporaryDirectory directory;
  int inside = 0;
  int most = 0;
  int turns = 0;
  TaskGroup group{executor};
  for (int i = 0; i < 4; ++i) group.spawn("turns", take_turns(directory.path() / "lock", &inside, &most, &turns));
  co_await group.join();
  EXPECT_EQ(most, 1);
  EXPECT_EQ(turns, 20);
}

}  // namespace
}  // namespace skiff::container
