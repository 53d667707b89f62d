#include "container/drivers/pods/turns/pool_turns.hpp"

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/async/task_group.hpp"
#include "tests/container/drivers/pods/filled_pool.hpp"
#include "tests/support/once.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container {
namespace {

using fakes::FakeApiServer;
using fakes::FilledPool;
using std::chrono::milliseconds;
using test::once;

/// There is room for one more if so many and one are gone or ready.
constexpr unsigned kTooMany = 4;
constexpr unsigned kWaiting = PodStarts::kEachNode + kTooMany;

/// A watched pool none of whose Pods is ready, and callers that want one.
struct EmptyPool {
  explicit EmptyPool(Executor executor) : pool{executor, kWaiting}, tasks{executor} {}
  Task<> begin() {
    for (unsigned number = 0; number < kWaiting; ++number) {
      change(number, [](nlohmann::json& pod) {
        pod["status"]["phase"] = "Pending";
        pod["status"]["conditions"] = nlohmann::json::array();
      });
    }
    pool.fake.cluster->watch_objects();
    co_await once([this] { return pool.fake.cluster->watched()->is_complete(); });
    turns.emplace(pool.fake.cluster->watched(), pool.fake.cluster->executor());
  }
  Task<> stop() {
    tasks.cancel();
    co_await tasks.join();
    got.clear();
    started.clear();
    turns.reset();
    co_await pool.fake.cluster->close();
    co_await pool.fake.stop();
  }
  void change(unsigned number, const std::function<void(nlohmann::json& pod)>& change) {
    pool.fake.server.change(kube::kPods, "default", "skiff-pool-p-" + std::to_string(number), change);
  }
  void make_ready(unsigned number) {
    change(number, [](nlohmann::json& pod) { FakeApiServer::make_ready(pod); });
  }
  Task<> have_ready(unsigned count) {
    for (unsigned number = 0; number < count; ++number) make_ready(number);
    co_await once([&] { return pool.fake.cluster->watched()->pods().group("p").size() == count; });
  }
  void want(milliseconds has = std::chrono::minutes{10}) {
    tasks.spawn("caller", wait(this, static_cast<int>(callers++), has));
  }
  static Task<> wait(EmptyPool* self, int caller, milliseconds has) {
    PoolTurns::Place place{&*self->turns, "p", has};
    auto held = co_await place.turn();
    self->order.push_back(caller);
    self->pods.push_back(held ? held->pod().name() : "of its own");
    if (!held) self->started.push_back(self->turns->start("skiff-box-" + std::to_string(caller)));
    if (held) self->got.push_back(std::move(*held));
  }

  FilledPool pool;
  TaskGroup tasks;
  std::optional<PoolTurns> turns;
  std::size_t callers = 0;
  std::vector<int> order;         ///< callers whose turn it was
  std::vector<std::string> pods;  ///< of each of them
  std::deque<FreeMembers::Held> got;
  std::vector<std::unique_ptr<PodStarts::Permit>> started;
};

CO_TEST(PoolTurns, EachPodThatBecomesReadyIsForWhoHasWaitedLongest, EmptyPool& pool) {
  for (int caller = 0; caller < 3; ++caller) pool.want();
  pool.make_ready(7);
  co_await once([&] { return pool.order.size() == 1; });
  pool.make_ready(3);
  pool.make_ready(5);
  co_await once([&] { return pool.order.size() == 3; });
  EXPECT_EQ(pool.order, (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(pool.pods[0], "skiff-pool-p-7");
  EXPECT_EQ((std::set<std::string>{pool.pods[1], pool.pods[2]}),
            (std::set<std::string>{"skiff-pool-p-3", "skiff-pool-p-5"}));
}

CO_TEST(PoolTurns, AsManyStartAPodOfTheirOwnAsThereIsRoomFor, EmptyPool& pool) {
  pool.want();
  pool.want();
  for (unsigned number = 0; number <= kTooMany; ++number) {
    pool.pool.fake.server.erase(kube::kPods, "default", "skiff-pool-p-" + std::to_string(number));
  }
  co_await once([&] { return !pool.order.empty(); });
  EXPECT_EQ(pool.pods, std::vector<std::string>{"of its own"});
  co_await test::pause(milliseconds{300});
  EXPECT_EQ(pool.order, std::vector<int>{0}) << "there was room for one";
  pool.make_ready(7);
  co_await once([&] { return pool.order.size() == 2; });
  EXPECT_EQ(pool.pods[1], "skiff-pool-p-7");
}

CO_TEST(PoolTurns, WhoHasWaitedHalfOfItsTimeStartsAPodOfItsOwn, EmptyPool& pool) {
  pool.want();
  pool.want(milliseconds{20});
  co_await once([&] { return pool.order.size() == 1; });
  EXPECT_EQ(pool.order, std::vector<int>{1});
  EXPECT_EQ(pool.pods, std::vector<std::string>{"of its own"});
}

CO_TEST(PoolTurns, ACallerThatLeavesHasNoPlaceAndOneThatLostItsPodComesFirst, EmptyPool& pool) {
  std::optional<PoolTurns::Place> gone{std::in_place, &*pool.turns, "p", std::chrono::minutes{10}};
  PoolTurns::Place unlucky{&*pool.turns, "p", std::chrono::minutes{10}};
  pool.want();
  gone.reset();
  pool.make_ready(2);
  auto held = co_await unlucky.turn();
  CO_ASSERT_TRUE(held.has_value());
  held->refuse();
  unlucky.come_back();
  pool.make_ready(9);
  auto again = co_await unlucky.turn();
  CO_ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->pod().name(), "skiff-pool-p-9");
  EXPECT_TRUE(pool.order.empty());
}

CO_TEST(PoolTurns, ALineHasAnEnd, EmptyPool& pool) {
  std::deque<PoolTurns::Place> line;
  while (!pool.turns->is_full("p")) line.emplace_back(&*pool.turns, "p", std::chrono::minutes{10});
  EXPECT_EQ(line.size(), PoolTurns::kLongestLine);
  EXPECT_FALSE(pool.turns->is_full("another"));
  line.pop_front();
  EXPECT_FALSE(pool.turns->is_full("p"));
  co_return;
}

Task<> refill_into(EmptyPool* pool, unsigned size, bool* is_permitted) {
  const auto permit = co_await pool->turns->refill("p", size, "skiff-pool-p-99");
  *is_permitted = true;
}

CO_TEST(PoolTurns, APoolIsFilledWhenNobodyWaitsAndThereIsRoom, EmptyPool& pool) {
  bool is_permitted = false;
  pool.want();
  pool.tasks.spawn("refill", refill_into(&pool, kWaiting, &is_permitted));
  for (unsigned number = 0; number <= kTooMany; ++number) pool.make_ready(number);
  co_await once([&] { return pool.order.size() == 1; });
  co_await once([&] { return is_permitted; });
}

CO_TEST(PoolTurns, APoolThatIsHalfFullIsFilledOnceNobodyTakesAnything, EmptyPool& pool) {
  co_await pool.have_ready(kTooMany + 1);
  bool is_permitted = false;
  {
    const PoolTurns::Taking taking{&*pool.turns};
    pool.tasks.spawn("refill", refill_into(&pool, 2 * (kTooMany + 1), &is_permitted));
    co_await test::pause(milliseconds{300});
    EXPECT_FALSE(is_permitted);
  }
  co_await once([&] { return is_permitted; });
}

CO_TEST(PoolTurns, APoolThatIsHalfEmptyIsFilledBesideCallersThatTakeItsPods, EmptyPool& pool) {
  co_await pool.have_ready(kWaiting - PodStarts::kEachBusyNode);
  bool is_permitted = false;
  const PoolTurns::Taking taking{&*pool.turns};
  pool.tasks.spawn("refill", refill_into(&pool, 2 * kWaiting, &is_permitted));
  co_await test::pause(PoolTurns::kBurst + milliseconds{300});
  EXPECT_FALSE(is_permitted) << "as many start as a node can bear beside them";
  pool.pool.fake.server.erase(kube::kPods, "default", "skiff-pool-p-" + std::to_string(kWaiting - 1));
  co_await once([&] { return is_permitted; });
}

CO_TEST(PoolTurns, APoolThatIsEmptiedAtOnceIsNotFilledMeanwhile, EmptyPool& pool) {
  co_await pool.have_ready(kWaiting);
  bool is_permitted = false;
  const auto begun = std::chrono::steady_clock::now();
  const PoolTurns::Taking taking{&*pool.turns};
  pool.tasks.spawn("refill", refill_into(&pool, 3 * kWaiting, &is_permitted));
  co_await once([&] { return is_permitted; });
  EXPECT_GE(std::chrono::steady_clock::now() - begun, PoolTurns::kBurst);
}

CO_TEST(PoolTurns, AProcessThatEndsFillsItsPoolAtOnce, EmptyPool& pool) {
  const PoolTurns::Taking taking{&*pool.turns};
  pool.want();
  pool.turns->hurry();
  bool is_permitted = false;
  pool.tasks.spawn("refill", refill_into(&pool, kWaiting, &is_permitted));
  co_await once([&] { return is_permitted; });
}

}  // namespace
}  // namespace skiff::container
