#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "container/cluster/pod/pod_manifest.hpp"
#include "container/kube/objects/object.hpp"
#include "container/sandbox/pod_options.hpp"
#include "container/sandbox/sandbox.hpp"

/// The policies that restrict the network of sandboxes. This file sends no requests.
namespace skiff::container {

/// The rules of a restricted network, for policies.
struct NetworkRules {
  nlohmann::json ingress = nlohmann::json::array();
  nlohmann::json egress = nlohmann::json::array();
};
[[nodiscard]] Result<NetworkRules> network_rules(const PodOptions& pod);
/// The policies that the spec needs, in the order in which they are applied: those of the namespace for that kind, or
/// one of the sandbox's own if it has CIDRs or reachable ports. None for `open`. No policy that sandboxes share has
/// both directions: kube-router takes ingress rules of a policy for egress between the Pods that the policy selects, so
/// each sandbox would reach the agents of the others.
[[nodiscard]] Result<std::vector<kube::Object>> create_network_policies(const SandboxSpec& spec,
                                                                        const ManifestContext& context);
/// The kind of a policy of the sandbox's own.
inline constexpr std::string_view kOwnPolicy = "own";
[[nodiscard]] std::string own_policy_name(const SandboxSpec& spec, const std::string& prefix);
/// The value of the label by which a policy selects the Pod: the kind, `kOwnPolicy`, or "".
[[nodiscard]] std::string network_label(const PodOptions& options);
/// Also `kEgressNetwork`, for a sandbox with egress by name.
[[nodiscard]] std::string network_label(const SandboxSpec& spec);
}  // namespace skiff::container
