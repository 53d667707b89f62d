#include "container/launcher/file_lock.hpp"

#include <optional>

#include <gtest/gtest.h>

#include "base/task_group.hpp"
#include "tests/support/reactor_test.hpp"
#include "tests/support/temporary_folder.hpp"

namespace skiff::container {
namespace {

using namespace std::chrono_literals;

CO_TEST(FileLock, IsHeldByOneAtATimeAndLeavesNoFile) {
  const test::TemporaryFolder folder;
  const auto file = folder.path() / "lock";
  {
    auto held = co_await FileLock::acquire(file, 1s, "it");
    CO_ASSERT_TRUE(held);
    EXPECT_TRUE(FileLock::is_held(file));
    auto second = co_await FileLock::acquire(file, 0ms, "it");
    CO_ASSERT_TRUE(!second);
    EXPECT_EQ(second.error().code, Errc::timeout);
    EXPECT_NE(second.error().message.find("works on it"), std::string::npos);
  }
  EXPECT_FALSE(FileLock::is_held(file));
  EXPECT_TRUE(folder.empty());
}

Task<> take_turns(std::filesystem::path file, int* inside, int* most, int* turns) {
  for (int i = 0; i < 5; ++i) {
    auto held = co_await FileLock::acquire(file, 10s, "it");
    CO_ASSERT_TRUE(held);
    *most = std::max(*most, ++*inside);
    auto nobody_else = co_await FileLock::acquire(file, 0ms, "it");
    EXPECT_FALSE(nobody_else);
    --*inside;
    ++*turns;
  }
}

CO_TEST(FileLock, GoesFromOneToTheNextThoughEachRemovesTheFile) {
  const test::TemporaryFolder folder;
  int inside = 0;
  int most = 0;
  int turns = 0;
  TaskGroup group{executor};
  for (int i = 0; i < 4; ++i) group.spawn("turns", take_turns(folder.path() / "lock", &inside, &most, &turns));
  co_await group.join();
  EXPECT_EQ(most, 1);
  EXPECT_EQ(turns, 20);
  EXPECT_TRUE(folder.empty());
}

}  // namespace
}  // namespace skiff::container
