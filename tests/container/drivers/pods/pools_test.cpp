#include "container/drivers/pods/pools.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/async/in_parallel.hpp"
#include "tests/container/cluster/fake_cluster.hpp"
#include "tests/container/drivers/pods/filled_pool.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container {
namespace {

using fakes::FakeAnswer;
using fakes::FakeCluster;
using fakes::FakeRequest;
using fakes::FilledPool;
using kube::Object;
using nlohmann::json;

CO_TEST(PodPools, TakesOnePodForASandbox) {
  FilledPool pool{executor, 2};
  auto taken = co_await pool.pools.claim(FilledPool::box(), std::nullopt);
  CO_ASSERT_TRUE(taken && *taken) << (taken ? "" : taken.error().message);
  EXPECT_TRUE(was_taken_for((*taken)->pod, FilledPool::box(), std::nullopt));
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
  EXPECT_NE((*taken)->pod.name(), theirs) << "one Pod is two sandboxes'";
  EXPECT_TRUE(was_taken_for((*taken)->pod, FilledPool::box(), std::nullopt));
  co_await pool.fake.stop();
}

CO_TEST(PodPools, LooksOnlyAtWhatIsFree) {
  FilledPool pool{executor, 2};
  auto completed = co_await pool.pools.complete(FilledPool::box());
  CO_ASSERT_TRUE(completed.has_value()) << completed.error().message;
  EXPECT_EQ(pool.fake.server.count("GET", "/pods"), 0u) << "what the pool has decided stands in its record";
  CO_ASSERT_TRUE((co_await pool.pools.claim(FilledPool::box(), std::nullopt)).has_value());
  CO_ASSERT_TRUE(pool.fake.server.count("GET", "/pods") == 1u);
  const std::string selector = pool.fake.server.last("GET", "/pods").parameter("labelSelector");
  EXPECT_TRUE(selector.ends_with(",skiff.dev/pool-state=free")) << selector;
  co_await pool.fake.stop();
}

CO_TEST(PodPools, LooksAtAPartOfALargePool) {
  FilledPool pool{executor, 200};
  CO_ASSERT_TRUE((co_await pool.pools.complete(FilledPool::box())).has_value());
  auto taken = co_await pool.pools.claim(FilledPool::box(), std::nullopt);
  CO_ASSERT_TRUE(taken && *taken) << (taken ? "" : taken.error().message);
  EXPECT_FALSE((*taken)->left.has_value()) << "not all of them were seen";
  CO_ASSERT_TRUE(pool.fake.server.count("GET", "/pods") == 1u);
  const std::string selector = pool.fake.server.last("GET", "/pods").parameter("labelSelector");
  EXPECT_TRUE(selector.contains(",skiff.dev/pool-slot in (")) << selector;
  co_await pool.fake.stop();
}

CO_TEST(PodPools, LooksAtAllOfALargePoolWhosePartHasNoneThatIsReady) {
  FilledPool pool{executor, 9};
  CO_ASSERT_TRUE((co_await pool.pools.complete(FilledPool::box())).has_value());
  // As a skiff has made them that knew no parts.
  for (const Object& pod : pool.fake.server.all(kube::kPods)) {
    pool.fake.server.change(kube::kPods, "default", pod.name(),
                            [](json& one) { one["metadata"]["labels"].erase("skiff.dev/pool-slot"); });
  }
  auto taken = co_await pool.pools.claim(FilledPool::box(), std::nullopt);
  CO_ASSERT_TRUE(taken && *taken) << (taken ? "there was none" : taken.error().message);
  EXPECT_EQ((*taken)->left, 8u);
  EXPECT_EQ(pool.fake.server.count("GET", "/pods"), 2u);
  co_await pool.fake.stop();
}

Task<Result<>> limits_nothing(std::string /*id*/) {
  co_return Result<>{};
}

CO_TEST(PodPools, MakesExactlyOnePodForEachThatIsTaken) {
  FilledPool pool{executor, 4};
  co_await pool.begin();
  std::vector<std::string> taken(4);
  co_await in_parallel(taken.size(), taken.size(), [&](std::size_t index) -> Task<> {
    return [](FilledPool* from, std::string* name) -> Task<> {
      auto one = co_await from->pools.take(FilledPool::box(), from->owner(), limits_nothing);
      if (one && *one) *name = (*one)->pod.name();
    }(&pool, &taken[index]);
  });
  co_await pool.pools.close();
  EXPECT_EQ(std::set(taken.begin(), taken.end()).size(), 4u) << "one Pod is two sandboxes'";
  EXPECT_EQ(std::ranges::count(taken, ""), 0);
  EXPECT_EQ(pool.fake.server.count("POST", "/pods"), 4u);
  const auto status = co_await pool.pools.status("p");
  CO_ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->active, 4u);
  EXPECT_EQ(status->total, 8u);
  co_await pool.fake.stop();
}

CO_TEST(PodPools, DoesNotWaitForThePodInThePlaceOfTheOneThatIsTaken) {
  FilledPool pool{executor, 1};
  co_await pool.begin();
  bool is_busy = true;
  pool.fake.server.before = [&](const FakeRequest& request) -> std::optional<FakeAnswer> {
    if (!is_busy || !request.is("GET", "/configmaps/skiff-pool-p")) return std::nullopt;
    FakeAnswer later = fakes::FakeApiServer::refusal(429, "TooManyRequests", "later");
    later.headers.add("Retry-After", "1");
    return later;
  };
  auto taken = co_await pool.pools.take(FilledPool::box(), pool.owner(), limits_nothing);
  CO_ASSERT_TRUE(taken && *taken) << (taken ? "there was none" : taken.error().message);
  EXPECT_EQ(pool.fake.server.count("POST", "/pods"), 0u);
  is_busy = false;
  co_await pool.pools.close();
  EXPECT_EQ(pool.fake.server.count("POST", "/pods"), 1u) << "nobody has made it";
  co_await pool.fake.stop();
}

CO_TEST(PodPools, MakesNoMoreThanThePoolShallHave) {
  FilledPool pool{executor, 3};
  co_await pool.begin();
  pool.fake.server.change(kube::kConfigMaps, "default", "skiff-pool-p",
                          [](json& record) { record["data"]["size"] = "2"; });
  CO_ASSERT_TRUE((co_await pool.pools.take(FilledPool::box(), pool.owner(), limits_nothing)).has_value());
  co_await pool.pools.close();
  EXPECT_EQ(pool.fake.server.count("POST", "/pods"), 0u);
  co_await pool.fake.stop();
}

CO_TEST(PodPools, WaitsForTheClusterWhileItScalesAsLongAsItWasGiven) {
  FilledPool pool{executor, 2};
  co_await pool.begin();
  const kube::Transport& transport = pool.fake.cluster->client().transport();
  const auto until = std::chrono::steady_clock::now() + std::chrono::hours{1};
  std::size_t asked = 0;
  pool.fake.server.before = [&](const FakeRequest& request) -> std::optional<FakeAnswer> {
    ++asked;
    EXPECT_GE(transport.waited_for(), until) << request.method << " " << request.path;
    return std::nullopt;
  };
  auto scaled = co_await pool.pools.scale("p", 1, std::chrono::hours{2}, fakes::ignore_progress);
  CO_ASSERT_TRUE(scaled.has_value()) << scaled.error().message;
  EXPECT_EQ(scaled->target, 1u);
  EXPECT_GT(asked, 0u);
  EXPECT_LT(transport.waited_for(), until) << "nobody waits any more";
  co_await pool.fake.stop();
}

CO_TEST(PodPools, LeavesAPoolThatSomebodyHasMadeAnewMeanwhile) {
  FilledPool pool{executor, 0};
  pool.fake.server.before = [&](const FakeRequest& request) -> std::optional<FakeAnswer> {
    if (request.is("DELETE", "/configmaps/skiff-pool-p")) {
      PoolSpec another{.name = "p", .size = 0, .sandbox = fakes::plain_spec("p")};
      pool.fake.server.put(kube::kConfigMaps, create_pool_record(another, "default", "skiff-"));
    }
    return std::nullopt;
  };
  auto removed = co_await pool.pools.remove("p");
  CO_ASSERT_TRUE(removed.has_value()) << removed.error().message;
  EXPECT_FALSE(*removed);
  EXPECT_TRUE(pool.fake.server.find(kube::kConfigMaps, "default", "skiff-pool-p"));
  co_await pool.fake.stop();
}

}  // namespace
}  // namespace skiff::container
