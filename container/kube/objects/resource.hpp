#pragma once

#include <string>
#include <string_view>

namespace skiff::kube {

/// A kind of object and its place in the API. The texts are literals.
struct Resource {
  std::string_view group;  ///< empty for the core group
  std::string_view version;
  std::string_view plural;
  std::string_view kind;
  bool namespaced = true;

  /// "v1", "networking.k8s.io/v1": `apiVersion` of its objects.
  [[nodiscard]] std::string api_version() const;
  /// "pods", "networkpolicies.networking.k8s.io": for messages, in the form that kubectl accepts.
  [[nodiscard]] std::string name() const;
  /// This kind in another version of its group.
  [[nodiscard]] constexpr Resource at(std::string_view other) const noexcept {
    Resource changed = *this;
    changed.version = other;
    return changed;
  }
};

inline constexpr Resource kPods{"", "v1", "pods", "Pod"};
inline constexpr Resource kServices{"", "v1", "services", "Service"};
inline constexpr Resource kConfigMaps{"", "v1", "configmaps", "ConfigMap"};
inline constexpr Resource kSecrets{"", "v1", "secrets", "Secret"};
inline constexpr Resource kVolumeClaims{"", "v1", "persistentvolumeclaims", "PersistentVolumeClaim"};
inline constexpr Resource kNamespaces{"", "v1", "namespaces", "Namespace", false};
inline constexpr Resource kResourceQuotas{"", "v1", "resourcequotas", "ResourceQuota"};
inline constexpr Resource kEvents{"", "v1", "events", "Event"};
inline constexpr Resource kNodes{"", "v1", "nodes", "Node", false};
inline constexpr Resource kNetworkPolicies{"networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy"};
inline constexpr Resource kGateways{"gateway.networking.k8s.io", "v1", "gateways", "Gateway"};
inline constexpr Resource kAccessReviews{"authorization.k8s.io", "v1", "selfsubjectaccessreviews",
                                         "SelfSubjectAccessReview", false};
inline constexpr Resource kTokenReviews{"authentication.k8s.io", "v1", "tokenreviews", "TokenReview", false};

/// kubernetes-sigs/agent-sandbox. It stores v1beta1; older controllers have only v1alpha1.
inline constexpr Resource kSandboxes{"agents.x-k8s.io", "v1beta1", "sandboxes", "Sandbox"};
inline constexpr Resource kSandboxClaims{"extensions.agents.x-k8s.io", "v1beta1", "sandboxclaims", "SandboxClaim"};
inline constexpr Resource kSandboxTemplates{"extensions.agents.x-k8s.io", "v1beta1", "sandboxtemplates",
                                            "SandboxTemplate"};
inline constexpr Resource kSandboxWarmPools{"extensions.agents.x-k8s.io", "v1beta1", "sandboxwarmpools",
                                            "SandboxWarmPool"};

/// "/api/v1/namespaces/a/pods"; without a namespace "/api/v1/pods", which means all namespaces.
[[nodiscard]] std::string collection_path(const Resource& resource, std::string_view namespace_name);
/// "/api/v1/namespaces/a/pods/b", "/api/v1/namespaces/a/pods/b/log".
[[nodiscard]] std::string object_path(const Resource& resource, std::string_view namespace_name, std::string_view name,
                                      std::string_view subresource = {});

/// Builds a query: "?a=1&b=2", or "". Empty values are left out.
class Query {
 public:
  Query& add(std::string_view name, std::string_view value);
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  std::string text_;
};

}  // namespace skiff::kube
