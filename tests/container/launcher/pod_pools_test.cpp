#include "container/launcher/pod_pools.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "tests/container/launcher/fake_cluster.hpp"
#include "tests/container/launcher/manifest_context.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container {
namespace {

using fakes::FakeAnswer;
using fakes::FakeCluster;
using fakes::FakeRequest;
using kube::Object;
using nlohmann::json;

/// The pool "p" with so many Pods that wait, all of them ready.
struct FilledPool {
  FilledPool(Executor executor, unsigned size)
      : fake{executor}, reach{fake.cluster.get(), fakes::through_the_proxy()}, pools{fake.cluster.get(), &reach} {
    PoolSpec pool{.name = "p", .size = size, .sandbox = fakes::plain_spec("p")};
    const Object record = fake.server.put(kube::kConfigMaps, make_pool_record(pool, "default", "skiff-"));
    for (unsigned number = 0; number < size; ++number) {
      ManifestContext context = test::manifest_context();
      context.namespace_name = "default";
      Object pod = make_member(pool, record, context, number).value();
      fakes::FakeApiServer::make_ready(pod.json);
      fake.server.put(kube::kPods, std::move(pod));
    }
  }
  [[nodiscard]] static SandboxSpec box() {
    SandboxSpec spec = fakes::plain_spec("box");
    spec.pod.pool = "p";
    return spec;
  }
  [[nodiscard]] std::size_t patches() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(fake.server.requests(), [](const auto& one) { return one.method == "PATCH"; }));
  }

  FakeCluster fake;
  Reach reach;
  PodPools pools;
};

CO_TEST(PodPools, TakesOnePodForASandbox) {
  FilledPool pool{executor, 2};
  auto taken = co_await pool.pools.claim(FilledPool::box(), std::nullopt);
  CO_ASSERT_TRUE(taken && *taken) << (taken ? "" : taken.error().message);
  EXPECT_TRUE(was_taken_for(**taken, FilledPool::box(), std::nullopt));
  auto status = co_await pool.pools.status("p");
  CO_ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->active, 1u);
  EXPECT_EQ(status->available, 1u);
  co_await pool.fake.stop();
}

CO_TEST(PodPools, KnowsAPodForItsOwnWhenTheAnswerWasLost) {
  FilledPool pool{executor, 2};
  pool.fake.server.before = [](const FakeRequest& request) -> std::optional<FakeAnswer> {
    if (request.method != "PATCH") return std::nullopt;
    return fakes::FakeApiServer::lost();
  };
  auto taken = co_await pool.pools.claim(FilledPool::box(), std::nullopt);
  CO_ASSERT_TRUE(taken && *taken) << (taken ? "" : taken.error().message);
  EXPECT_EQ(pool.patches(), 1u) << "a second one was taken";
  co_await pool.fake.stop();
}

CO_TEST(PodPools, TakesAnotherPodWhenTheAnswerWasLostAndSomebodyElseWasFaster) {
  FilledPool pool{executor, 2};
  std::string theirs;
  pool.fake.server.before = [&](const FakeRequest& request) -> std::optional<FakeAnswer> {
    if (request.method != "PATCH" || !theirs.empty()) return std::nullopt;
    theirs = request.path.substr(request.path.rfind('/') + 1);
    pool.fake.server.change(kube::kPods, "default", theirs, [](json& pod) {
      Object changed{pod};
      labels::put(changed, labels::kPoolState, "taken");
      labels::put(changed, labels::kName, "another");
      pod = std::move(changed.json);
    });
    return FakeAnswer{.is_cut = true};
  };
  auto taken = co_await pool.pools.claim(FilledPool::box(), std::nullopt);
  CO_ASSERT_TRUE(taken && *taken) << (taken ? "" : taken.error().message);
  EXPECT_NE((*taken)->name(), theirs) << "one Pod is two sandboxes'";
  EXPECT_TRUE(was_taken_for(**taken, FilledPool::box(), std::nullopt));
  co_await pool.fake.stop();
}

}  // namespace
}  // namespace skiff::container
