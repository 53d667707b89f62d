#include "base/async/channel.hpp"

#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include "base/async/blocking_pool.hpp"
#include "base/async/task_group.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff {
namespace {

constexpr int kBlocks = 2000;

std::string block_of(int number) {
  return std::string(static_cast<std::size_t>(number % 97) + 1, static_cast<char>('a' + number % 26));
}

Task<> run_on(BlockingPool& pool, std::function<void()> work) {
  (void)co_await pool.run([&work] {
    work();
    return true;
  });
}

CO_TEST(ToReactor, PassesEveryBlockInOrderThroughASmallBuffer) {
  BlockingPool pool{"test", 1};
  ToReactor door{executor, 100};
  TaskGroup group{executor};
  group.spawn("producer", run_on(pool, [&] {
                for (int i = 0; i < kBlocks; ++i) EXPECT_TRUE(door.push(block_of(i)));
                door.finish();
              }));
  for (int i = 0; i < kBlocks; ++i) {
    const auto block = co_await door.pop();
    CO_ASSERT_TRUE(block);
    EXPECT_EQ(*block, block_of(i));
  }
  EXPECT_FALSE((co_await door.pop()).has_value());
  co_await group.join();
}

CO_TEST(ToReactor, TellsTheThreadThatTheReaderHasLeft) {
  BlockingPool pool{"test", 1};
  ToReactor door{executor, 10};
  TaskGroup group{executor};
  bool refused = false;
  group.spawn("producer", run_on(pool, [&] {
                while (door.push("a block of some bytes")) {
                }
                refused = true;
              }));
  (void)co_await door.pop();
  door.leave();
  co_await group.join();
  EXPECT_TRUE(refused);
}

CO_TEST(ToThread, PassesEveryByteInOrderThroughASmallBuffer) {
  BlockingPool pool{"test", 1};
  ToThread door{executor, 100};
  TaskGroup group{executor};
  std::string got;
  group.spawn("consumer", run_on(pool, [&] {
                std::array<char, 7> piece{};
                while (const auto count = door.read(piece)) {
                  if (*count == 0) return;
                  got.append(piece.data(), *count);
                }
                ADD_FAILURE() << "the rest did not come";
              }));
  std::string sent;
  for (int i = 0; i < kBlocks; ++i) {
    sent += block_of(i);
    CO_ASSERT_TRUE(co_await door.push(block_of(i)));
  }
  door.finish(true);
  co_await group.join();
  EXPECT_EQ(got, sent);
}

CO_TEST(ToThread, TellsTheThreadThatTheInputIsCut) {
  BlockingPool pool{"test", 1};
  ToThread door{executor, 100};
  TaskGroup group{executor};
  bool cut = false;
  group.spawn("consumer", run_on(pool, [&] {
                std::array<char, 64> piece{};
                while (const auto count = door.read(piece)) EXPECT_GT(*count, 0U);
                cut = true;
              }));
  CO_ASSERT_TRUE(co_await door.push("the first half"));
  door.finish(false);
  co_await group.join();
  EXPECT_TRUE(cut);
}

CO_TEST(ToReactor, HoldsNoThreadWhileNothingIsRead) {
  BlockingPool pool{"test", 1, 4};
  std::vector<std::unique_ptr<ToReactor>> doors;
  TaskGroup group{executor};
  for (int i = 0; i < 4; ++i) {
    ToReactor& door = *doors.emplace_back(std::make_unique<ToReactor>(executor, 10, &pool));
    group.spawn("producer", run_on(pool, [&door] {
                  for (int sent = 0; sent < 100; ++sent) EXPECT_TRUE(door.push("a block of some bytes"));
                  door.finish();
                }));
  }
  co_await run_on(pool, [] {});  // after all other jobs
  for (const auto& door : doors) {
    int taken = 0;
    while (const auto block = co_await door->pop()) ++taken;
    EXPECT_EQ(taken, 100);
  }
  co_await group.join();
}

CO_TEST(ToThread, HoldsNoThreadWhileNothingComes) {
  BlockingPool pool{"test", 1, 4};
  std::vector<std::unique_ptr<ToThread>> doors;
  TaskGroup group{executor};
  std::atomic<int> got = 0;
  for (int i = 0; i < 4; ++i) {
    ToThread& door = *doors.emplace_back(std::make_unique<ToThread>(executor, 100, &pool));
    group.spawn("consumer", run_on(pool, [&door, &got] {
                  std::array<char, 7> piece{};
                  std::size_t size = 0;
                  while (const auto count = door.read(piece)) {
                    if (*count == 0) break;
                    size += *count;
                  }
                  EXPECT_EQ(size, 9U);
                  ++got;
                }));
  }
  co_await run_on(pool, [] {});
  for (const auto& door : doors) {
    CO_ASSERT_TRUE(co_await door->push("nine byte"));
    door->finish(true);
  }
  co_await group.join();
  EXPECT_EQ(got, 4);
}

CO_TEST(ToThread, TellsTheCoroutineThatTheThreadHasLeft) {
  BlockingPool pool{"test", 1};
  ToThread door{executor, 10};
  TaskGroup group{executor};
  group.spawn("consumer", run_on(pool, [&] {
                std::array<char, 4> piece{};
                EXPECT_EQ(door.read(piece), 4U);
                door.leave();
              }));
  int taken = 0;
  for (;;) {
    const bool more = co_await door.push("twelve bytes");
    if (!more) break;
    ++taken;
  }
  EXPECT_GT(taken, 0);
  co_await group.join();
}

}  // namespace
}  // namespace skiff
