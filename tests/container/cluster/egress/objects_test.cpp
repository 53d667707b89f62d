#include "container/cluster/egress/objects.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "container/cli/output/output.hpp"
#include "tests/support/page.hpp"

namespace skiff::container {
namespace {

const EgressInstall kWanted{.tenant = "team-a", .image = "skiff:1", .public_keys = "PEM"};

kube::Object find(const std::string& kind, const std::string& where) {
  for (const auto& [resource, object] : egress_objects(kWanted)) {
    if (resource.kind == kind && object.namespace_name() == where) return object;
  }
  ADD_FAILURE() << "no " << kind << " in " << where;
  return {};
}

TEST(EgressObjects, LieInANamespaceOfTheirOwnBesideTheSandboxes) {
  std::set<std::string> places;
  for (const auto& [resource, object] : egress_objects(kWanted)) {
    places.insert(object.namespace_name());
    EXPECT_EQ(object.label("app.kubernetes.io/managed-by"), "skiff") << object.name();
  }
  EXPECT_EQ(places, (std::set<std::string>{"", "team-a", "team-a-egress"}));
  const auto home = egress_objects(kWanted).front().second;
  EXPECT_EQ(home.name(), "team-a-egress");
  EXPECT_EQ(home.label("pod-security.kubernetes.io/enforce"), "restricted");
}

TEST(EgressObjects, TheFenceLeadsToTheProxyAlone) {
  const auto spec = egress_fence("team-a", "skiff-").json["spec"];
  EXPECT_EQ(spec["podSelector"]["matchLabels"], (nlohmann::json{{"skiff.dev/network", "egress"}}));
  EXPECT_EQ(spec["policyTypes"], nlohmann::json{"Egress"});
  EXPECT_EQ(spec["ingress"], nlohmann::json::array()) << "those of an older policy go";
  ASSERT_EQ(spec["egress"].size(), 1U);
  EXPECT_EQ(spec["egress"][0]["ports"], nlohmann::json::parse(R"([{"port": 3128, "protocol": "TCP"}])"));
  const auto& peer = spec["egress"][0]["to"][0];
  EXPECT_EQ(peer["namespaceSelector"]["matchLabels"]["kubernetes.io/metadata.name"], "team-a-egress");
  EXPECT_EQ(peer["podSelector"]["matchLabels"]["app.kubernetes.io/name"], "skiff-egress");
  const auto installed = egress_objects(kWanted);
  EXPECT_TRUE(std::ranges::any_of(installed, [&](const auto& one) {
    return one.second.name() == "skiff-network-egress" && one.second.json["spec"] == spec;
  })) << "that of install and that of up are one";
}

TEST(EgressObjects, AgentsAreReachedByAPolicyThatOpensNoWayOut) {
  const auto entrance = egress_entrance("team-a", "skiff-");
  EXPECT_EQ(entrance.name(), "skiff-network-egress-agent");
  const auto& spec = entrance.json["spec"];
  EXPECT_EQ(spec["podSelector"]["matchLabels"], (nlohmann::json{{"skiff.dev/network", "egress"}}));
  EXPECT_EQ(spec["policyTypes"], nlohmann::json{"Ingress"});
  EXPECT_EQ(spec["ingress"], nlohmann::json::parse(R"([{"ports": [{"port": 7070, "protocol": "TCP"}]}])"));
  EXPECT_FALSE(spec.contains("egress"));
}

TEST(EgressObjects, DialectsAreReachedAtThePortsThatASandboxNamesAndNotWhileItWaits) {
  const auto policy = egress_dialects("team-a", "skiff-");
  EXPECT_EQ(policy.name(), "skiff-network-egress-dialects");
  const auto& spec = policy.json["spec"];
  EXPECT_EQ(spec["podSelector"]["matchLabels"],
            (nlohmann::json{{"skiff.dev/network", "egress"}, {"app.kubernetes.io/component", "sandbox"}}));
  EXPECT_EQ(spec["policyTypes"], nlohmann::json{"Ingress"}) << "it opens no way out";
  std::vector<std::string> names;
  for (const auto& port : spec["ingress"][0]["ports"]) names.push_back(port["port"]);
  EXPECT_EQ(names, (std::vector<std::string>{"e2b", "kubebox", "python-runtime", "sandboxd-rest", "sandboxd-grpc"}));
}

TEST(EgressObjects, CanaryAndMetricsAreOpenToEverybodyAndTheProxyToFencedPods) {
  const auto ingress = find("NetworkPolicy", "team-a-egress").json["spec"]["ingress"];
  ASSERT_EQ(ingress.size(), 3U);
  EXPECT_EQ(ingress[0]["ports"][0]["port"], 3128);
  EXPECT_EQ(ingress[0]["from"][0]["namespaceSelector"]["matchLabels"]["kubernetes.io/metadata.name"], "team-a");
  EXPECT_EQ(ingress[0]["from"][0]["podSelector"]["matchLabels"]["skiff.dev/network"], "egress");
  EXPECT_EQ(ingress[1]["ports"][0]["port"], 3129);
  EXPECT_FALSE(ingress[1].contains("from"));
  EXPECT_EQ(ingress[2]["ports"][0]["port"], 9128);
  EXPECT_FALSE(ingress[2].contains("from"));
}

TEST(EgressObjects, TheProxyMayReadPodsOfThatNamespaceAndSecretsOfItsOwn) {
  const auto rules = find("Role", "team-a").json["rules"];
  EXPECT_EQ(rules, nlohmann::json::parse(
                       R"([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]}])"));
  EXPECT_EQ(
      find("Role", "team-a-egress").json["rules"],
      nlohmann::json::parse(R"([{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list", "watch"]}])"));
  EXPECT_EQ(find("RoleBinding", "team-a-egress").json["subjects"], find("RoleBinding", "team-a").json["subjects"]);
  const auto pod = find("Deployment", "team-a-egress").json["spec"]["template"]["spec"];
  EXPECT_EQ(pod["containers"][0]["securityContext"]["readOnlyRootFilesystem"], true);
  EXPECT_EQ(pod["enableServiceLinks"], false) << "their variables look like settings";
}

TEST(EgressObjects, AreThoseOfTheChart) {
  const EgressInstall wanted{
      .tenant = "skiff-sandboxes", .image = "registry.invalid/skiff", .public_keys = "the keys of the values"};
  std::string text;
  for (const auto& [resource, object] : egress_objects(wanted)) {
    text += (text.empty() ? "" : "---\n") + format_yaml(object.json);
  }
  const kube::Object service{{{"spec", {{"clusterIP", "192.0.2.1"}}}}};
  text += "---\n" + format_yaml(egress_notice(wanted, service).json);
  test::expect_page("../deploy/helm/skiff-serve/files/egress.yaml", text);
}

TEST(EgressNotice, HasTheAddressesOfTheService) {
  kube::Object service{{{"spec", {{"clusterIP", "fd00:96::7"}}}}};
  const auto notice = egress_notice(kWanted, service);
  EXPECT_EQ(notice.namespace_name(), "team-a");
  EXPECT_EQ(notice.text({"data", "proxy"}), "[fd00:96::7]:3128");
  EXPECT_EQ(notice.text({"data", "canary"}), "[fd00:96::7]:3129");
  EXPECT_EQ(notice.text({"data", "public.pem"}), "PEM");
  EXPECT_EQ(egress_notice(kWanted, {}).text({"data", "proxy"}), "");
}

}  // namespace
}  // namespace skiff::container
