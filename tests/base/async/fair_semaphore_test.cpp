#include "base/async/fair_semaphore.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/async/event.hpp"
#include "base/async/task_group.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff {
namespace {

constexpr std::size_t kInAtOnce = 4;

/// Holders of permits, which keep them until they are released.
struct Readers {
  explicit Readers(Executor executor) : go{executor}, turns{executor, kInAtOnce}, group{executor} {}
  static Task<> read(Readers* self, std::string tenant) {
    const auto turn = co_await self->turns.acquire(tenant);
    self->reading.push_back(tenant);
    while (!self->is_over) co_await self->go.wait();
  }
  void ask(const std::string& tenant) { group.spawn("reader", read(this, tenant)); }
  Task<> stop() {
    is_over = true;
    go.notify_all();
    return group.join();
  }

  Event go;
  bool is_over = false;
  std::vector<std::string> reading;
  FairSemaphore turns;
  TaskGroup group;
};

CO_TEST(FairSemaphore, GivesOneHolderOnePermitAtATime, Readers& on) {
  for (int i = 0; i < 3; ++i) on.ask("a");
  on.ask("b");
  EXPECT_EQ(on.reading, (std::vector<std::string>{"a", "b"}));
  co_await on.stop();
  EXPECT_EQ(on.reading.size(), 4u) << "each has had its turn";
  EXPECT_EQ(on.turns.holders(), 0u);
}

CO_TEST(FairSemaphore, LimitsPermitsAtATime, Readers& on) {
  for (std::size_t i = 0; i < kInAtOnce + 2; ++i) on.ask("tenant " + std::to_string(i));
  EXPECT_EQ(on.reading.size(), kInAtOnce);
  co_await on.stop();
  EXPECT_EQ(on.reading.size(), kInAtOnce + 2);
}

CO_TEST(FairSemaphore, SkipsCancelledWaiters, Readers& on) {
  TaskGroup left{executor};
  on.ask("a");
  left.spawn("left", Readers::read(&on, "a"));
  on.ask("a");
  left.cancel();
  co_await left.join();
  co_await on.stop();
  EXPECT_EQ(on.reading.size(), 2u);
}

}  // namespace
}  // namespace skiff
