#include "container/cluster/watched_objects.hpp"

#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "container/cluster/signing_secret.hpp"
#include "tests/container/cluster/fake_cluster.hpp"
#include "tests/support/once.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container {
namespace {

using fakes::FakeAnswer;
using fakes::FakeApiServer;
using fakes::FakeCluster;
using fakes::FakeRequest;
using test::once;
using Reading = Cluster::Reading;

/// A cluster whose objects are watched, with the sandbox "box".
struct WatchedCluster {
  explicit WatchedCluster(Executor executor) : fake{executor} {}
  Task<> begin() {
    fakes::put_sandbox(fake.server, "box", "s-box");
    auto secret = kube::Object::make(kube::kSecrets, "default", signing_secret_name("skiff-"));
    secret.json["data"] = signing_secret_data({.current = SigningKey::generate().value()}).value();
    fake.server.put(kube::kSecrets, std::move(secret));
    fake.cluster->watch_objects();
    co_await once([this] { return watched().is_complete(); });
  }
  Task<> stop() {
    fake.server.before = {};
    co_await fake.cluster->close();
    co_await fake.stop();
  }
  [[nodiscard]] WatchedObjects& watched() const { return *fake.cluster->watched(); }
  /// The API server answers nothing but faults.
  void break_it() {
    fake.server.before = [](const FakeRequest&) -> std::optional<FakeAnswer> {
      return FakeApiServer::refusal(500, "InternalError", "etcdserver: no leader");
    };
    fake.server.end_watches(true);
  }
  [[nodiscard]] Task<kube::Outcome<kube::Object>> read(std::string name, Reading reading = Reading::now) const {
    return fake.cluster->read(kube::kConfigMaps, "default", std::move(name), reading);
  }

  FakeCluster fake;
};

CO_TEST(WatchedObjects, LeaveTheSigningKeysWithoutARequestForThem, WatchedCluster& cluster) {
  const auto gets = [&] { return cluster.fake.server.count("GET", "/secrets/skiff-signing-key"); };
  co_await once([&] { return gets() == 1; });
  cluster.break_it();
  cluster.fake.cluster->doubt();
  CO_ASSERT_TRUE(!(co_await cluster.fake.cluster->check_answers()).has_value());
  EXPECT_TRUE((co_await cluster.fake.cluster->signing_keys()).has_value());
  EXPECT_EQ(gets(), 1u) << "nobody waits for an API server that is known to be away";
}

CO_TEST(WatchedObjects, AsksTheServerAsLongAsItAnswers, WatchedCluster& cluster) {
  const auto gets = [&] { return cluster.fake.server.count("GET", "/configmaps/skiff-box"); };
  CO_ASSERT_TRUE((co_await cluster.read("skiff-box")).has_value());
  EXPECT_EQ(gets(), 1u);
  CO_ASSERT_TRUE((co_await cluster.read("skiff-box", Reading::recent)).has_value());
  EXPECT_EQ(gets(), 1u) << "the answer before it was recent";
  const auto absent = co_await cluster.read("another", Reading::recent);
  CO_ASSERT_TRUE(!absent.has_value());
  EXPECT_TRUE(absent.error().not_found()) << "another process may have made it: only the server knows";
  CO_ASSERT_TRUE((co_await cluster.fake.cluster->check_answers()).has_value());
}

CO_TEST(WatchedObjects, KnowsWhatWasThereWhileTheServerIsAway, WatchedCluster& cluster) {
  cluster.break_it();
  const auto known = co_await cluster.read("skiff-box");
  CO_ASSERT_TRUE(known.has_value()) << known.error().error.message;
  EXPECT_EQ(known->name(), "skiff-box");
  EXPECT_TRUE(cluster.fake.cluster->is_in_doubt());
  const auto absent = co_await cluster.read("another");
  CO_ASSERT_TRUE(!absent.has_value());
  EXPECT_FALSE(absent.error().not_found()) << "nobody knows that";
  co_await once([&] { return cluster.fake.server.requests().size() > 10; });
  cluster.fake.server.before = {};
  co_await once([&] { return !cluster.fake.cluster->is_in_doubt(); });
  CO_ASSERT_TRUE((co_await cluster.fake.cluster->check_answers()).has_value());
}

CO_TEST(WatchedObjects, DoesNotReadWhatThisProcessHasRemoved, WatchedCluster& cluster) {
  const auto record = co_await cluster.read("skiff-box");
  CO_ASSERT_TRUE(record.has_value());
  cluster.fake.cluster->note_removed(kube::kConfigMaps, "default", "skiff-box", record->uid());
  (void)co_await cluster.read("skiff-box", Reading::recent);
  EXPECT_EQ(cluster.fake.server.count("GET", "/configmaps/skiff-box"), 2u);
}

CO_TEST(WatchedObjects, FreshnessEndsWithAChangeOfEitherObject, WatchedCluster& cluster) {
  for (const kube::Resource& resource : {kube::kConfigMaps, kube::kPods}) {
    auto fresh = cluster.watched().freshness("skiff-box", "skiff-box");
    CO_ASSERT_TRUE(fresh != nullptr);
    EXPECT_TRUE(fresh->holds());
    cluster.fake.server.change(resource, "default", "skiff-box",
                               [](nlohmann::json& object) { object["metadata"]["annotations"]["a"] = "b"; });
    co_await once([&] { return !fresh->holds(); });
  }
  EXPECT_EQ(cluster.watched().freshness("another", "another"), nullptr);
}

CO_TEST(WatchedObjects, TellWhoListensOfEachEvent, WatchedCluster& cluster) {
  int told = 0;
  auto watch = cluster.watched().watch([&] { ++told; });
  EXPECT_TRUE(watch->sees_all());
  const auto change = [&](const kube::Resource& resource) {
    cluster.fake.server.change(resource, "default", "skiff-box",
                               [&](nlohmann::json& object) { object["metadata"]["annotations"]["a"] = told; });
  };
  for (const kube::Resource& resource : {kube::kConfigMaps, kube::kPods}) {
    const int before = told;
    change(resource);
    co_await once([&] { return told > before; });
  }
  watch.reset();
  const int before = told;
  const auto version = cluster.watched().pods().version_of("skiff-box");
  change(kube::kPods);
  co_await once([&] { return cluster.watched().pods().version_of("skiff-box") != version; });
  EXPECT_EQ(told, before);
}

}  // namespace
}  // namespace skiff::container
