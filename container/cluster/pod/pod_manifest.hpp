#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "container/cluster/egress/objects.hpp"
#include "container/kube/objects/object.hpp"
#include "container/sandbox/pod_options.hpp"
#include "container/sandbox/sandbox.hpp"

/// Builds the objects of a sandbox for the API server. It sends no requests.
namespace skiff::container {

/// The values for the objects that are not in the spec.
struct ManifestContext {
  std::string namespace_name = {};
  std::string prefix = "skiff-";
  std::string sandbox_id = {};
  std::string public_key = {};  ///< PEM; agents accept tokens that its private half has signed
  EgressAccess egress = {};     ///< for a spec with `egress`
  bool assigns_ids = false;     ///< the namespace chooses uid and gid (OpenShift): leave them out
};

/// The name of the agent's port, in its container and in its Service.
inline constexpr std::string_view kAgentPortName = "agent";
/// The port of the agent of that Pod.
[[nodiscard]] std::uint16_t agent_port_of(const kube::Object& pod);

/// The name of the Service of a record or Pod with that name: "skiff-NAME-svc".
[[nodiscard]] std::string service_name(std::string_view object_name);

/// The Pod. `spec` was checked.
[[nodiscard]] Result<kube::Object> create_pod(const SandboxSpec& spec, const ManifestContext& context);
/// The fields of a Service's spec by which a LoadBalancer or NodePort keeps its clients' addresses, so that --allow can
/// be enforced; none for the other kinds.
[[nodiscard]] nlohmann::json service_exposure(const PodOptions& pod);
/// Returns nullopt for ServiceKind::none.
[[nodiscard]] std::optional<kube::Object> create_service(const SandboxSpec& spec, const ManifestContext& context);
[[nodiscard]] Result<std::vector<kube::Object>> create_volume_claims(const SandboxSpec& spec,
                                                                     const ManifestContext& context);
/// The namespace of a sandbox with `namespace_per_sandbox`.
[[nodiscard]] kube::Object create_namespace(const SandboxSpec& spec, const ManifestContext& context);
[[nodiscard]] Result<std::optional<kube::Object>> create_quota(const SandboxSpec& spec, const ManifestContext& context);

/// The sandbox's objects in its namespace other than record, Pod and Service.
[[nodiscard]] std::vector<std::pair<kube::Resource, std::string>> owned_objects(const SandboxSpec& spec,
                                                                                std::string_view prefix);

/// Merges objects, lists of named items by name, and volumeMounts by path. Replaces all other values; null removes a
/// member.
void merge_overrides(nlohmann::json& into, const nlohmann::json& overrides);

}  // namespace skiff::container
