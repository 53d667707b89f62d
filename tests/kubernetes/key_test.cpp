// Keys beside each other in the Secret of a real API server.
#include "container/cluster/key_rotation.hpp"

#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "tests/kubernetes/cluster.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container {
namespace {

std::unique_ptr<Cluster> launcher_in(Executor executor, const std::string& namespace_name) {
  ClusterOptions options;
  options.access.kubeconfig = test::cluster().kubeconfig();
  options.access.context = "admin";
  options.access.namespace_name = namespace_name;
  return Cluster::open(executor, std::move(options)).value();
}

/// A Pod whose agent would know that key. No node runs it.
kube::Object pod_with_key(const std::string& namespace_name, const SigningKey& key) {
  kube::Object pod = kube::Object::make(kube::kPods, namespace_name, "old");
  nlohmann::json container{{"name", "sandbox"}, {"image", "registry.test/a:1"}};
  container["env"].push_back({{"name", "SKIFF_PUBLIC_KEY"}, {"value", key.public_pem().value()}});
  pod.json["spec"]["containers"].push_back(std::move(container));
  return pod;
}

CO_TEST(KeysOfACluster, AreRotatedAndFinishedWithoutLosingOneThatIsNeeded) {
  kube::Client admin = test::connect_as(executor, "admin");
  const std::string place = co_await test::create_namespace(&admin);
  const auto first = launcher_in(executor, place);
  const SigningKey before = (co_await first->signing_key(true)).value();
  const auto rotated = co_await rotate_key(first.get());
  CO_ASSERT_TRUE(rotated.has_value()) << rotated.error().message;
  EXPECT_EQ(rotated->older.at(0).fingerprint, before.fingerprint().value());

  const auto other = launcher_in(executor, place);
  const SigningKey now = (co_await other->signing_key(false)).value();
  EXPECT_EQ(now.fingerprint().value(), rotated->current);
  const kube::Object pod = pod_with_key(place, before);
  EXPECT_EQ((co_await other->signing_key_of(pod)).value().fingerprint().value(), before.fingerprint().value());

  const auto finished = co_await finish_rotation(other.get());
  CO_ASSERT_TRUE(finished.has_value()) << finished.error().message;
  EXPECT_EQ(finished->removed, std::vector{before.fingerprint().value()}) << "nothing was made with it";
  auto secret = co_await admin.get(kube::kSecrets, place, "skiff-signing-key");
  CO_ASSERT_TRUE(secret.has_value());
  EXPECT_EQ(secret->texts({"data"}).size(), 1u) << "what is removed leaves no empty field";
}

}  // namespace
}  // namespace skiff::container
