#include "container/drivers/pods/egress/secrets.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "container/cluster/egress/secret_objects.hpp"
#include "tests/container/drivers/pods/driven_cluster.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container {
namespace {

using fakes::DrivenCluster;

egress::Secret github(std::vector<std::string> hosts = {"github.com"}, std::string value = "0123456789") {
  return {.name = "github",
          .hosts = std::move(hosts),
          .header = "Authorization",
          .format = "Bearer {}",
          .value = std::move(value)};
}

EgressSecret kept(const DrivenCluster& on) {
  return read_egress_secret(on.fake.server.find(kube::kSecrets, "default-egress", "skiff-secret.github").value())
      .value();
}

std::string noted_ca(const DrivenCluster& on) {
  return on.fake.server.find(kube::kConfigMaps, "default", "skiff-secret.github")->text({"data", "ca.pem"});
}

/// The namespace of the proxy.
void put_home(DrivenCluster& on) {
  on.fake.server.put(kube::kNamespaces, kube::Object::make(kube::kNamespaces, {}, "default-egress"));
}

CO_TEST(EgressSecrets, NeedTheProxyOfTheirNamespace, DrivenCluster& on) {
  const auto refused = co_await set_egress_secret(on.fake.cluster.get(), github());
  CO_ASSERT_TRUE(!refused);
  EXPECT_TRUE(refused.error().message.contains("skiff egress install -n default")) << refused.error().message;
  EXPECT_FALSE(on.fake.server.find(kube::kConfigMaps, "default", "skiff-secret.github"));
  const auto none = co_await list_egress_secrets(on.fake.cluster.get());
  EXPECT_TRUE(none && none->empty());
}

CO_TEST(EgressSecrets, KeepTheirAuthorityAsLongAsTheirHosts, DrivenCluster& on) {
  put_home(on);
  CO_ASSERT_TRUE((co_await set_egress_secret(on.fake.cluster.get(), github())).has_value());
  const auto first = kept(on);
  EXPECT_EQ(first.secret.value, "0123456789");
  EXPECT_EQ(noted_ca(on), first.ca_pem);
  CO_ASSERT_TRUE((co_await set_egress_secret(on.fake.cluster.get(), github({"github.com"}, "new-value"))).has_value());
  EXPECT_EQ(kept(on).secret.value, "new-value");
  EXPECT_EQ(kept(on).key_pem, first.key_pem);
  CO_ASSERT_TRUE((co_await set_egress_secret(on.fake.cluster.get(), github({"github.com", "a.org"}))).has_value());
  EXPECT_NE(kept(on).ca_pem, first.ca_pem);
  EXPECT_EQ(noted_ca(on), kept(on).ca_pem);
  const auto all = co_await list_egress_secrets(on.fake.cluster.get());
  CO_ASSERT_TRUE(all.has_value());
  CO_ASSERT_TRUE(all->size() == 1);
  EXPECT_EQ(all->front().hosts, (std::vector<std::string>{"github.com", "a.org"}));
}

CO_TEST(EgressSecrets, GiveASandboxItsTrust, DrivenCluster& on) {
  put_home(on);
  CO_ASSERT_TRUE((co_await set_egress_secret(on.fake.cluster.get(), github({"github.com", "a.org:8443"}))).has_value());
  auto other = github({"github.com"});
  other.name = "other";
  CO_ASSERT_TRUE((co_await set_egress_secret(on.fake.cluster.get(), other)).has_value());
  const auto trust = co_await read_egress_trust(on.fake.cluster.get(), {"github", "github"});
  CO_ASSERT_TRUE(trust.has_value()) << trust.error().message;
  EXPECT_EQ(trust->rules, (std::vector<std::string>{"a.org:8443", "github.com:443"}));
  EXPECT_EQ(trust->annotation, R"({"github":["github.com","a.org:8443"]})");
  EXPECT_EQ(trust->ca_pem, noted_ca(on));
  const auto both = co_await read_egress_trust(on.fake.cluster.get(), {"github", "other"});
  CO_ASSERT_TRUE(!both);
  EXPECT_TRUE(both.error().message.contains("are both for github.com:443")) << both.error().message;
  const auto missing = co_await read_egress_trust(on.fake.cluster.get(), {"absent"});
  CO_ASSERT_TRUE(!missing);
  EXPECT_TRUE(missing.error().message.contains("skiff secret set absent -n default")) << missing.error().message;
  EXPECT_FALSE((co_await read_egress_trust(on.fake.cluster.get(), {"../pods"})).has_value());
  on.fake.server.change(kube::kConfigMaps, "default", "skiff-secret.github",
                        [](auto& notice) { notice["data"]["ca.pem"] = "no certificate"; });
  EXPECT_FALSE((co_await read_egress_trust(on.fake.cluster.get(), {"github"})).has_value());
}

CO_TEST(EgressSecrets, AreRemovedWithWhatIsKnownOfThem, DrivenCluster& on) {
  put_home(on);
  CO_ASSERT_TRUE((co_await set_egress_secret(on.fake.cluster.get(), github())).has_value());
  CO_ASSERT_TRUE((co_await remove_egress_secret(on.fake.cluster.get(), "github")).has_value());
  EXPECT_FALSE(on.fake.server.find(kube::kSecrets, "default-egress", "skiff-secret.github"));
  EXPECT_FALSE(on.fake.server.find(kube::kConfigMaps, "default", "skiff-secret.github"));
  const auto again = co_await remove_egress_secret(on.fake.cluster.get(), "github");
  CO_ASSERT_TRUE(!again);
  EXPECT_EQ(again.error().code, Errc::not_found);
}

CO_TEST(EgressSecrets, AreSoManyAtMost, DrivenCluster& on) {
  put_home(on);
  CO_ASSERT_TRUE((co_await set_egress_secret(on.fake.cluster.get(), github())).has_value());
  EgressSecret another = kept(on);
  for (std::size_t i = 1; i < egress::SecretStore::kMost; ++i) {
    another.secret.name = "n" + std::to_string(i);
    on.fake.server.put(kube::kSecrets, egress_secret_object(another, "default"));
  }
  egress::Secret further = github();
  further.name = "further";
  const auto refused = co_await set_egress_secret(on.fake.cluster.get(), further);
  CO_ASSERT_TRUE(!refused);
  EXPECT_EQ(refused.error().code, Errc::resource_exhausted);
  EXPECT_TRUE(refused.error().message.contains("skiff secret rm")) << refused.error().message;
  EXPECT_FALSE(on.fake.server.find(kube::kSecrets, "default-egress", "skiff-secret.further"));
  // Each of them can still be changed.
  EXPECT_TRUE((co_await set_egress_secret(on.fake.cluster.get(), github({"github.com"}, "new-value"))).has_value());
}

CO_TEST(EgressSecrets, NoneIsLostWhenTwoAreSetAtOnce, DrivenCluster& on) {
  put_home(on);
  CO_ASSERT_TRUE((co_await set_egress_secret(on.fake.cluster.get(), github())).has_value());
  // Another client replaces it, with other hosts, between this one's read and its write.
  bool has_come = false;
  on.fake.server.before = [&](const fakes::FakeRequest& request) -> std::optional<fakes::FakeAnswer> {
    if (!request.is("PATCH", "/secrets/skiff-secret.github") || std::exchange(has_come, true)) return std::nullopt;
    on.fake.server.change(kube::kSecrets, "default-egress", "skiff-secret.github",
                          [](nlohmann::json& secret) { secret["metadata"]["annotations"]["test/of"] = "another"; });
    return std::nullopt;
  };
  CO_ASSERT_TRUE((co_await set_egress_secret(on.fake.cluster.get(), github({"github.com"}, "last-value"))).has_value());
  EXPECT_TRUE(has_come);
  EXPECT_EQ(kept(on).secret.value, "last-value");
  EXPECT_EQ(noted_ca(on), kept(on).ca_pem);
}

}  // namespace
}  // namespace skiff::container
