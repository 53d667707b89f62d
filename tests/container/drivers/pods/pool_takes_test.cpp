#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/async/in_parallel.hpp"
#include "container/drivers/pods/driver.hpp"
#include "tests/container/drivers/pods/filled_pool.hpp"
#include "tests/support/once.hpp"
#include "tests/support/reactor_test.hpp"

// Sandboxes from a pool, made by a server that watches it: what each of them costs the API server.
namespace skiff::container {
namespace {

using fakes::FakeAnswer;
using fakes::FakeRequest;
using fakes::FilledPool;
using kube::Object;
using test::once;

/// A pool, and the driver of a server in its cluster.
struct ServedPool {
  explicit ServedPool(Executor executor, unsigned size = 4)
      : pool{executor, size}, driver{pool.fake.cluster.get(), fakes::through_the_proxy()} {}
  Task<> begin() {
    (void)(co_await pool.fake.cluster->signing_key(true)).value();
    // Their agents know the key that there is now.
    for (const Object& pod : pool.fake.server.all(kube::kPods)) {
      pool.fake.server.change(kube::kPods, "default", pod.name(),
                              [](nlohmann::json& json) { json["spec"]["containers"][0].erase("env"); });
    }
    driver.keep_copies();
    co_await once([this] { return pool.fake.cluster->watched()->is_complete(); });
    // A process asks this once.
    (void)co_await pool.fake.cluster->assigns_ids();
    first = pool.fake.server.requests().size();
  }
  Task<> stop() {
    pool.fake.server.before = {};
    co_await driver.close();
    co_await pool.fake.stop();
  }
  [[nodiscard]] static SandboxSpec spec(const std::string& name) {
    SandboxSpec spec{.name = name, .owner = "ann"};
    spec.pod.pool = "p";
    spec.pod.service = ServiceKind::none;
    return spec;
  }
  /// "VERB RESOURCE" of the requests since the beginning; without successors, and without what agents were asked.
  [[nodiscard]] std::vector<std::string> asked() const {
    std::vector<std::string> all;
    const auto& requests = pool.fake.server.requests();
    for (std::size_t i = first; i < requests.size(); ++i) {
      const FakeRequest& one = requests[i];
      if (one.is_watch() || one.path.contains("/proxy/") || one.is("POST", "/pods")) continue;
      all.push_back(one.method + (one.path.contains("/pods")         ? " pod"
                                  : one.path.contains("/configmaps") ? " record"
                                                                     : one.path));
    }
    return all;
  }

  FilledPool pool;
  PodDriver driver;
  std::size_t first = 0;
};

CO_TEST(PoolTakes, ASandboxCostsThreeWritesAndNoRead, ServedPool& served) {
  auto made = co_await served.driver.create(ServedPool::spec("box"), fakes::ignore_progress);
  CO_ASSERT_TRUE(made.has_value()) << made.error().message;
  EXPECT_EQ(made->state, SandboxState::running);
  EXPECT_EQ(served.asked(), (std::vector<std::string>{"POST record", "PATCH pod", "PATCH record"}));
  // The first request to it asks nothing, either.
  auto fresh = served.driver.freshness("box");
  EXPECT_TRUE(fresh != nullptr && fresh->holds());
  CO_ASSERT_TRUE((co_await served.driver.get_recent("box")).has_value());
  CO_ASSERT_TRUE((co_await served.driver.endpoint("box", {.scope = "read"})).has_value());
  EXPECT_EQ(served.asked().size(), 3u);
}

Task<> make_into(ServedPool* served, std::size_t index, Result<Sandbox>* made) {
  *made = co_await served->driver.create(ServedPool::spec("box-" + std::to_string(index)), fakes::ignore_progress);
}

CO_TEST(PoolTakes, ABurstTakesEachPodOnceWithoutAConflict, ServedPool& served) {
  std::vector<Result<Sandbox>> made(4, std::unexpected{Error{}});
  co_await in_parallel(made.size(), made.size(),
                       [&](std::size_t index) { return make_into(&served, index, &made[index]); });
  std::set<std::string> pods;
  for (const auto& one : made) {
    CO_ASSERT_TRUE(one.has_value()) << one.error().message;
    pods.insert(one->details.at("pod"));
  }
  EXPECT_EQ(pods.size(), made.size());
  EXPECT_EQ(served.asked().size(), 3 * made.size());
}

CO_TEST(PoolTakes, TakesAnotherPodWhenAnotherReplicaWasFaster, ServedPool& served) {
  std::set<std::string> theirs;
  served.pool.fake.server.before = [&](const FakeRequest& request) -> std::optional<FakeAnswer> {
    if (request.method != "PATCH" || !request.path.contains("/pods/") || theirs.size() == 2) return std::nullopt;
    const std::string name = request.path.substr(request.path.rfind('/') + 1);
    EXPECT_TRUE(theirs.insert(name).second) << "a Pod that was refused was tried again";
    served.pool.fake.server.change(kube::kPods, "default", name, [](nlohmann::json& pod) {
      Object changed{pod};
      labels::put(changed, labels::kPoolState, "taken");
      pod = std::move(changed.json);
    });
    return std::nullopt;
  };
  auto made = co_await served.driver.create(ServedPool::spec("box"), fakes::ignore_progress);
  CO_ASSERT_TRUE(made.has_value()) << made.error().message;
  EXPECT_FALSE(theirs.contains(made->details.at("pod")));
  EXPECT_EQ(theirs.size(), 2u);
}

CO_TEST(PoolTakes, MembersAreMadeAgainAfterTheTakes, ServedPool& served) {
  const auto members = [&] { return served.pool.fake.server.all(kube::kPods).size(); };
  EXPECT_EQ(members(), 4u);
  bool is_held = true;
  served.pool.fake.server.agent = [&](const FakeRequest& request) -> FakeAnswer {
    if (is_held && request.path.ends_with("/v1/init")) {
      is_held = false;
      EXPECT_EQ(served.pool.fake.server.count("POST", "/pods"), 0u) << "a successor is made while a take waits";
    }
    return {.body = "{}"};
  };
  CO_ASSERT_TRUE((co_await served.driver.create(ServedPool::spec("box"), fakes::ignore_progress)).has_value());
  EXPECT_FALSE(is_held);
  co_await once([&] { return members() == 5; });
}

}  // namespace
}  // namespace skiff::container
