#include "container/cluster/pod/network_policies.hpp"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace skiff::container {
namespace {

using nlohmann::json;

const ManifestContext kPlace{.namespace_name = "ns", .sandbox_id = "s1", .public_key = "PEM"};

SandboxSpec networked() {
  SandboxSpec spec{.name = "box", .image = "busybox", .owner = "ann"};
  spec.pod.agent_image = "skiffd:1";
  return spec;
}

/// The label by which a policy selects the Pod.
std::string label_of_pod(const SandboxSpec& spec) {
  return create_pod(spec, kPlace).value().label("skiff.dev/network");
}

/// The policy of a sandbox that has one of its own.
kube::Object only_policy(const SandboxSpec& spec) {
  auto policies = create_network_policies(spec, kPlace).value();
  EXPECT_EQ(policies.size(), 1U);
  return std::move(policies.at(0));
}

TEST(NetworkPolicies, PortsThatAreNamedAreOpenWhateverTheNetwork) {
  SandboxSpec spec = networked();
  spec.pod.ports = {"8080"};
  EXPECT_TRUE(create_network_policies(spec, kPlace).value().empty()) << "an open network is open";
  for (const char* network : {"deny", "dns", "cidr=10.0.0.0/8"}) {
    spec.pod.network = network;
    const auto policy = only_policy(spec);
    EXPECT_EQ(policy.name(), "skiff-box-net") << network;
    EXPECT_EQ(policy.json["spec"]["podSelector"]["matchLabels"], (json{{"skiff.dev/sandbox", "s1"}}));
    EXPECT_EQ(
        policy.json["spec"]["ingress"],
        json::array(
            {{{"ports", json::array({{{"port", 7070}, {"protocol", "TCP"}}, {{"port", 8080}, {"protocol", "TCP"}}})}}}))
        << network;
    EXPECT_EQ(label_of_pod(spec), "own");
    EXPECT_EQ(owned_objects(spec, "skiff-").back().second, "skiff-box-net");
  }
}

TEST(NetworkPolicies, ADialectPassesTheNetworkThatDeniesOthers) {
  SandboxSpec spec = networked();
  spec.pod.dialects = {"sandboxd"};
  EXPECT_EQ(network_label(spec.pod), "") << "an open network is open";
  spec.pod.network = "deny";
  EXPECT_EQ(network_label(spec.pod), "own");
  const auto policy = only_policy(spec);
  std::vector<int> numbers;
  for (const json& port : policy.json["spec"]["ingress"][0]["ports"]) numbers.push_back(port["port"]);
  EXPECT_EQ(numbers, (std::vector<int>{7070, 8080, 9090}));
  EXPECT_EQ(policy.json["spec"]["egress"], json::array());
}

TEST(NetworkPolicies, AnAgentThatListensElsewhereHasAPolicyOfItsOwn) {
  SandboxSpec spec = networked();
  spec.pod.agent_port = 8888;
  spec.pod.network = "deny";
  const auto policy = only_policy(spec);
  EXPECT_EQ(policy.name(), "skiff-box-net") << "the shared one lets in another port";
  EXPECT_EQ(policy.json["spec"]["ingress"][0]["ports"], json::array({{{"port", 8888}, {"protocol", "TCP"}}}));
}

TEST(NetworkPolicies, PoliciesAreSharedByKindUnlessTheyHaveAddresses) {
  SandboxSpec spec = networked();
  EXPECT_TRUE(create_network_policies(spec, kPlace).value().empty());
  spec.pod.network = "deny";
  EXPECT_EQ(label_of_pod(spec), "deny");
  const auto deny = create_network_policies(spec, kPlace).value();
  ASSERT_EQ(deny.size(), 2U) << "kube-router takes ways in for ways out between the Pods of one policy";
  EXPECT_EQ(deny[0].name(), "skiff-network-deny-agent") << "the way in is never open as a whole";
  EXPECT_EQ(deny[1].name(), "skiff-network-deny");
  for (const kube::Object& one : deny) {
    EXPECT_EQ(one.json["spec"]["podSelector"]["matchLabels"], (json{{"skiff.dev/network", "deny"}}));
  }
  const json& way_in = deny[0].json["spec"];
  EXPECT_EQ(way_in["policyTypes"], json::array({"Ingress"}));
  EXPECT_EQ(way_in["ingress"], json::parse(R"([{"ports": [{"port": 7070, "protocol": "TCP"}]}])"));
  EXPECT_FALSE(way_in.contains("egress"));
  const json& way_out = deny[1].json["spec"];
  EXPECT_EQ(way_out["policyTypes"], json::array({"Egress"}));
  EXPECT_EQ(way_out["egress"], json::array());
  EXPECT_EQ(way_out["ingress"], json::array()) << "those of an older policy go";
  spec.pod.network = "dns";
  const auto dns = create_network_policies(spec, kPlace).value();
  EXPECT_EQ(dns[0].name(), "skiff-network-dns-agent");
  EXPECT_EQ(dns[1].json["spec"]["egress"][0]["ports"][0]["port"], 53);
  spec.pod.network = "cidr=10.0.0.0/8";
  const auto own = only_policy(spec);
  EXPECT_EQ(own.name(), "skiff-box-net");
  EXPECT_EQ(own.json["spec"]["egress"][0]["to"][0]["ipBlock"]["cidr"], "10.0.0.0/8");
  EXPECT_EQ(own.json["spec"]["podSelector"]["matchLabels"], (json{{"skiff.dev/sandbox", "s1"}}));
}

}  // namespace
}  // namespace skiff::container
