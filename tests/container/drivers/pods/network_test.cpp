#include "container/drivers/pods/network.hpp"

#include <utility>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/container/drivers/pods/driven_cluster.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container {
namespace {

using fakes::DrivenCluster;
using fakes::FakeRequest;

TEST(NetworkPlan, RemovesTheOwnPolicyOfASandboxThatUsesASharedOne) {
  SandboxSpec spec = fakes::plain_spec("box");
  spec.pod.network = "dns";
  EXPECT_EQ(plan_network(spec, "skiff-").pod_label, "dns");
  EXPECT_EQ(plan_network(spec, "skiff-").unwanted_policy, "skiff-box-net");
  spec.pod.allow = {"203.0.113.7/32"};
  EXPECT_EQ(plan_network(spec, "skiff-").pod_label, "own");
  EXPECT_EQ(plan_network(spec, "skiff-").unwanted_policy, "");
}

CO_TEST(ChangeNetwork, SaysWhatItHasChangedAndDoesTheRestWhenRepeated, DrivenCluster& on) {
  fakes::put_sandbox(on.fake.server, "box", "s1");
  CO_ASSERT_TRUE((co_await on.driver.set_network("box", "", {"203.0.113.7/32"})).has_value());
  CO_ASSERT_TRUE(on.fake.server.find(kube::kNetworkPolicies, "default", "skiff-box-net").has_value());
  on.fake.server.before = [](const FakeRequest& request) -> std::optional<fakes::FakeAnswer> {
    if (!request.is("DELETE", "/networkpolicies/skiff-box-net")) return std::nullopt;
    return fakes::FakeApiServer::refusal(403, "Forbidden", "networkpolicies is forbidden");
  };
  auto refused = co_await on.driver.set_network("box", "open", {"0.0.0.0/0"});
  CO_ASSERT_TRUE(!refused);
  EXPECT_TRUE(
      refused.error().message.ends_with("(changed before that: the record, its NetworkPolicy, the label of its "
                                        "Pod; the same command again changes the rest)"))
      << refused.error().message;
  on.fake.server.before = {};
  auto changed = co_await on.driver.set_network("box", "open", {"0.0.0.0/0"});
  CO_ASSERT_TRUE(changed.has_value()) << changed.error().message;
  EXPECT_EQ(changed->network, "open");
  EXPECT_FALSE(on.fake.server.find(kube::kNetworkPolicies, "default", "skiff-box-net"));
}

CO_TEST(ChangeNetwork, MendsThePolicyOfAnOlderProgramAndNeverOpensTheWayIn, DrivenCluster& on) {
  fakes::put_sandbox(on.fake.server, "box", "s1");
  kube::Object older = kube::Object::make(kube::kNetworkPolicies, "default", "skiff-network-deny");
  older.json["spec"] = nlohmann::json::parse(
      R"({"policyTypes": ["Ingress", "Egress"], "egress": [], "ingress": [{"ports": [{"port": 7070, "protocol": "TCP"}]}]})");
  on.fake.server.put(kube::kNetworkPolicies, std::move(older));
  CO_ASSERT_TRUE((co_await on.driver.set_network("box", "deny", {})).has_value());
  const auto mended = on.fake.server.find(kube::kNetworkPolicies, "default", "skiff-network-deny");
  CO_ASSERT_TRUE(mended.has_value());
  EXPECT_EQ(mended->json["spec"]["policyTypes"], nlohmann::json::array({"Egress"}));
  EXPECT_EQ(mended->json["spec"]["ingress"], nlohmann::json::array());
  EXPECT_LT(on.place_of("PATCH", "/networkpolicies/skiff-network-deny-agent"),
            on.place_of("PATCH", "/networkpolicies/skiff-network-deny"));
}

}  // namespace
}  // namespace skiff::container
