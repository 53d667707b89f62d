#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "container/kube/objects/object.hpp"
#include "container/kube/objects/resource.hpp"

/// Egress by name in a cluster: what `skiff egress install` makes for a namespace of sandboxes. This file sends no
/// requests.
namespace skiff::container {

/// The value of `labels::kNetwork` of a Pod with egress by name: the fence selects it.
inline constexpr std::string_view kEgressNetwork = "egress";
/// The annotation of such a Pod: its rules, a JSON array.
inline constexpr std::string_view kEgressAnnotation = "skiff.dev/egress";
/// The annotation of such a Pod with secrets: a JSON object with the hosts of each. It says for which hosts the Pod
/// expects a secret; the secret itself says for which it is.
inline constexpr std::string_view kEgressSecretsAnnotation = "skiff.dev/egress-secrets";
/// Most bytes of each of the two annotations.
inline constexpr std::size_t kLargestEgressPolicy = std::size_t{16} << 10U;

/// The name of the proxy's Deployment and of all that belongs to it.
inline constexpr std::string_view kEgressName = "skiff-egress";
inline constexpr kube::Resource kEgressDeployments{"apps", "v1", "deployments", "Deployment"};
/// The fields of the ConfigMap of that name in the namespace of sandboxes: where their agents find the proxy, IP:PORT.
inline constexpr std::string_view kEgressProxyField = "proxy";
inline constexpr std::string_view kEgressCanaryField = "canary";
/// The file of the proxy with the public keys that sign its sandboxes' tokens; the field of that ConfigMap, and of the
/// proxy's own.
inline constexpr std::string_view kEgressKeysFile = "/etc/skiff-egress/public.pem";
inline constexpr std::string_view kEgressKeysField = "public.pem";

/// The ports of the proxy: for sandboxes; the canary, which the fence alone closes; once it is ready, for the kubelet
/// and for those who read its metrics.
inline constexpr std::uint16_t kEgressPort = 3128;
inline constexpr std::uint16_t kEgressCanaryPort = 3129;
inline constexpr std::uint16_t kEgressHealthPort = 9128;

/// The namespace of the proxy for sandboxes in `tenant`.
[[nodiscard]] std::string egress_namespace(std::string_view tenant);

/// The NetworkPolicy in `tenant` by which a sandbox with egress by name connects to the proxy alone.
[[nodiscard]] kube::Object egress_fence(const std::string& tenant, std::string_view prefix);

/// The NetworkPolicy in `tenant` by which the agents of such sandboxes can be reached. It comes before the fence and is
/// not a part of it: kube-router takes ingress rules of a policy for egress between the Pods that the policy selects,
/// so each sandbox would reach the agents of the others.
[[nodiscard]] kube::Object egress_entrance(const std::string& tenant, std::string_view prefix);

/// The NetworkPolicy in `tenant` by which sandboxes with egress by name can be reached at the ports of their dialects,
/// besides that of the agent. It lets nobody in to a Pod of a pool that waits: its dialects have no token yet.
[[nodiscard]] kube::Object egress_dialects(const std::string& tenant, std::string_view prefix);

struct EgressInstall {
  std::string tenant = {};  ///< namespace of the sandboxes
  std::string prefix = "skiff-";
  std::string image = {};        ///< with skiff as its entrypoint
  std::string public_keys = {};  ///< PEM
};
/// The addresses and the credential with which a sandbox's agent uses the proxy.
struct EgressAccess {
  std::string proxy = {};   ///< IP:PORT
  std::string canary = {};  ///< IP:PORT
  std::string token = {};
  std::string secrets = {};  ///< the annotation of its secrets; empty without any
  std::string ca_pem = {};   ///< the certificates of their authorities
};

/// All objects in the order of their creation, but the secrets.
[[nodiscard]] std::vector<std::pair<kube::Resource, kube::Object>> egress_objects(const EgressInstall& wanted);

/// The ConfigMap in the namespace of the sandboxes; without the proxy's address as long as its Service has none.
[[nodiscard]] kube::Object egress_notice(const EgressInstall& wanted, const kube::Object& service);

}  // namespace skiff::container
