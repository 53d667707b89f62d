#include "container/cluster/pod/network_policies.hpp"

#include <string_view>
#include <utility>

#include "container/cluster/egress/objects.hpp"
#include "container/cluster/labels.hpp"
#include "container/kube/objects/resource.hpp"
#include "container/sandbox/dialects.hpp"

namespace skiff::container {
namespace {

using kube::Object;
using nlohmann::json;

constexpr int kDnsPort = 53;
constexpr std::string_view kCidrs = "cidr=";
/// The end of the name of a shared policy by which agents can be reached.
constexpr std::string_view kEntrance = "-agent";

json port_of(int port, std::string_view protocol) {
  return {{"port", port}, {"protocol", protocol}};
}

json peers(const std::vector<std::string>& cidrs) {
  json list = json::array();
  for (const std::string& cidr : cidrs) list.push_back({{"ipBlock", {{"cidr", cidr}}}});
  return list;
}

/// A policy of the sandbox alone.
Object own_policy(const SandboxSpec& spec, const ManifestContext& context) {
  Object policy = Object::make(kube::kNetworkPolicies, context.namespace_name, own_policy_name(spec, context.prefix));
  labels::put_common(policy, "network", spec.name, spec.owner);
  labels::put(policy, labels::kSandbox, context.sandbox_id);
  policy.json["spec"]["podSelector"]["matchLabels"][labels::kSandbox] = context.sandbox_id;
  return policy;
}

/// A policy that the namespace's sandboxes of that kind share.
Object policy_of_all(const std::string& kind, std::string_view end, const ManifestContext& context) {
  Object policy = Object::make(kube::kNetworkPolicies, context.namespace_name,
                               std::string{context.prefix}.append("network-").append(kind).append(end));
  labels::put_common(policy, "network", {}, {});
  policy.json["spec"]["podSelector"]["matchLabels"][labels::kNetwork] = kind;
  return policy;
}

}  // namespace

std::string own_policy_name(const SandboxSpec& spec, const std::string& prefix) {
  return prefix + spec.name + "-net";
}

std::string network_label(const PodOptions& options) {
  if (!options.allow.empty() || options.network.starts_with(kCidrs)) return std::string{kOwnPolicy};
  if (options.network == "open") return {};
  // The sandbox's servers, dialects and agent must be reachable: the shared policy admits only the default port.
  const bool is_usual = options.ports.empty() && options.dialects.empty() && options.agent_port == kAgentPort;
  return is_usual ? options.network : std::string{kOwnPolicy};
}

std::string network_label(const SandboxSpec& spec) {
  return spec.has_egress() ? std::string{kEgressNetwork} : network_label(spec.pod);
}

Result<NetworkRules> network_rules(const PodOptions& pod) {
  NetworkRules rules;
  if (!pod.allow.empty()) {
    rules.ingress.push_back({{"from", peers(pod.allow)}});
  } else {
    // The agent always requires a token, so it may be reachable; ports that the user named should be.
    json ports = json::array({port_of(pod.agent_port, "TCP")});
    SKIFF_TRY(auto dialects, ports_of_dialects(pod.dialects));
    for (const DialectPort& port : dialects) ports.push_back(port_of(port.number, "TCP"));
    for (const std::string& text : pod.ports) {
      if (const auto port = parse_port(text)) ports.push_back(port_of(*port, "TCP"));
    }
    rules.ingress.push_back({{"ports", std::move(ports)}});
  }
  SKIFF_TRY(auto cidrs, parse_network(pod.network));
  if (!cidrs.empty()) rules.egress.push_back({{"to", peers(cidrs)}});
  if (pod.network == "dns") {
    rules.egress.push_back({{"ports", json::array({port_of(kDnsPort, "UDP"), port_of(kDnsPort, "TCP")})}});
  }
  return rules;
}

Result<std::vector<Object>> create_network_policies(const SandboxSpec& spec, const ManifestContext& context) {
  std::vector<Object> policies;
  const std::string kind = network_label(spec);
  if (kind.empty()) return policies;
  if (kind == kEgressNetwork) {
    policies.push_back(egress_entrance(context.namespace_name, context.prefix));
    policies.push_back(egress_fence(context.namespace_name, context.prefix));
    if (!spec.pod.dialects.empty()) policies.push_back(egress_dialects(context.namespace_name, context.prefix));
    return policies;
  }
  SKIFF_TRY(auto rules, network_rules(spec.pod));
  const bool is_own = kind == kOwnPolicy;
  policies.push_back(is_own ? own_policy(spec, context) : policy_of_all(kind, kEntrance, context));
  policies.front().json["spec"]["policyTypes"] = json::array({"Ingress"});
  policies.front().json["spec"]["ingress"] = std::move(rules.ingress);
  if (spec.pod.network == "open") return policies;
  if (!is_own) {
    policies.push_back(policy_of_all(kind, "", context));
    policies.back().json["spec"]["policyTypes"] = json::array();
    // Older programs made one policy for both directions: its ways in go.
    policies.back().json["spec"]["ingress"] = json::array();
  }
  policies.back().json["spec"]["policyTypes"].push_back("Egress");
  policies.back().json["spec"]["egress"] = std::move(rules.egress);
  return policies;
}

}  // namespace skiff::container
