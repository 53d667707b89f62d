#include "container/kube/api_presence.hpp"

#include <optional>
#include <string>

#include <gtest/gtest.h>

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

/// A cluster of which only is known whether its API server answers.
struct PresentCluster {
  explicit PresentCluster(Executor executor)
      : fake{executor}, presence{&fake.cluster->client(), executor, kube::kPods, "default", {}} {}
  Task<> begin() {
    fakes::put_sandbox(fake.server, "box", "s-box");
    // A server that has never answered is not asked again.
    (void)co_await read("skiff-box");
  }
  Task<> stop() {
    fake.server.before = {};
    co_await presence.stop();
    co_await fake.stop();
  }
  void break_it() {
    fake.server.before = [](const FakeRequest&) -> std::optional<FakeAnswer> {
      return FakeApiServer::refusal(500, "InternalError", "the storage is away");
    };
  }
  [[nodiscard]] Task<kube::Outcome<kube::Object>> read(std::string name) {
    return presence.read(kube::kConfigMaps, "default", std::move(name));
  }

  FakeCluster fake;
  kube::ApiPresence presence;
};

CO_TEST(ApiPresence, ReadsFailAtOnceWhileTheServerIsAway, PresentCluster& cluster) {
  CO_ASSERT_TRUE((co_await cluster.presence.check()).has_value());
  cluster.break_it();
  CO_ASSERT_TRUE(!(co_await cluster.read("skiff-box")).has_value());
  EXPECT_TRUE(cluster.presence.is_in_doubt());
  const auto away = co_await cluster.presence.check();
  CO_ASSERT_TRUE(!away.has_value());
  EXPECT_EQ(away.error().code, Errc::cluster_unavailable);
  const auto reads = [&] { return cluster.fake.server.count("GET", "/configmaps/skiff-box"); };
  const auto before = reads();
  const auto failed = co_await cluster.read("skiff-box");
  CO_ASSERT_TRUE(!failed.has_value());
  EXPECT_EQ(failed.error().error.code, Errc::cluster_unavailable);
  EXPECT_EQ(reads(), before) << "it was asked although it is known to be away";
  cluster.fake.server.before = {};
  co_await once([&] { return !cluster.presence.is_in_doubt(); });
  CO_ASSERT_TRUE((co_await cluster.read("skiff-box")).has_value());
  CO_ASSERT_TRUE((co_await cluster.presence.check()).has_value());
}

CO_TEST(ApiPresence, AnAnswerThatRefusesIsAnAnswer, PresentCluster& cluster) {
  cluster.fake.server.before = [](const FakeRequest&) -> std::optional<FakeAnswer> {
    return FakeApiServer::refusal(403, "Forbidden", "you may not");
  };
  CO_ASSERT_TRUE(!(co_await cluster.read("skiff-box")).has_value());
  EXPECT_FALSE(cluster.presence.is_in_doubt());
  CO_ASSERT_TRUE((co_await cluster.presence.check()).has_value());
}

}  // namespace
}  // namespace skiff::container
