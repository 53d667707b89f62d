#include "container/drivers/pods/turns/pod_starts.hpp"

#include <cstddef>
#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "container/cluster/watched_objects.hpp"
#include "tests/container/drivers/pods/filled_pool.hpp"
#include "tests/support/once.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container {
namespace {

using fakes::FilledPool;
using test::once;

constexpr unsigned kMembers = PodStarts::kEachNode;

/// A watched pool, all of whose Pods are on their way to being ready.
struct StartingPool {
  explicit StartingPool(Executor executor) : pool{executor, kMembers} {}
  Task<> begin() {
    for (unsigned number = 0; number < kMembers; ++number) set_condition(number, "Ready", "False", {});
    pool.fake.cluster->watch_objects();
    co_await once([this] { return pool.fake.cluster->watched()->is_complete(); });
  }
  Task<> stop() {
    co_await pool.fake.cluster->close();
    co_await pool.fake.stop();
  }
  [[nodiscard]] const kube::Mirror& pods() const { return pool.fake.cluster->watched()->pods(); }
  [[nodiscard]] std::size_t starting() const { return pods().group(std::string{kStarting}).size(); }
  void change(unsigned number, const std::function<void(nlohmann::json& pod)>& change) {
    pool.fake.server.change(kube::kPods, "default", "skiff-pool-p-" + std::to_string(number), change);
  }
  void set_condition(unsigned number, const char* type, const char* status, const char* reason) {
    change(number, [&](nlohmann::json& pod) {
      pod["status"]["phase"] = "Pending";
      pod["status"]["conditions"] = {{{"type", type}, {"status", status}, {"reason", reason == nullptr ? "" : reason}}};
    });
  }

  FilledPool pool;
};

CO_TEST(PodStarts, HasRoomForSoManyOnEachNode, StartingPool& pool) {
  PodStarts starts{&pool.pods()};
  EXPECT_EQ(pool.starting(), kMembers);
  EXPECT_FALSE(starts.has_room());
  pool.change(0, [](nlohmann::json& pod) { pod["spec"]["nodeName"] = "one"; });
  pool.change(1, [](nlohmann::json& pod) { pod["spec"]["nodeName"] = "another"; });
  co_await once([&] { return pool.pods().groups(kOnNode, kOnNode, 9).size() == 2; });
  EXPECT_TRUE(starts.has_room());
}

CO_TEST(PodStarts, CountsWhatThisProcessIsAboutToMakeAndNothingTwice, StartingPool& pool) {
  PodStarts starts{&pool.pods()};
  pool.change(0, [](nlohmann::json& one) { fakes::FakeApiServer::make_ready(one); });
  co_await once([&] { return pool.starting() == kMembers - 1; });
  const PodStarts::Permit known{&starts, "skiff-pool-p-1"};
  EXPECT_TRUE(starts.has_room()) << "it is among those that the watch knows";
  {
    const PodStarts::Permit one{&starts, "skiff-box"};
    EXPECT_FALSE(starts.has_room());
  }
  EXPECT_TRUE(starts.has_room());
}

CO_TEST(PodStarts, DoesNotWaitForWhatDoesNotStart, StartingPool& pool) {
  PodStarts starts{&pool.pods()};
  EXPECT_FALSE(starts.has_room());
  pool.set_condition(0, "PodScheduled", "False", "Unschedulable");
  co_await once([&] { return starts.has_room(); });
  pool.set_condition(0, "Ready", "False", {});
  co_await once([&] { return !starts.has_room(); });
  pool.pool.fake.server.erase(kube::kPods, "default", "skiff-pool-p-3");
  co_await once([&] { return starts.has_room(); });
}

}  // namespace
}  // namespace skiff::container
