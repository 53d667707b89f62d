#pragma once

#include <optional>
#include <vector>

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "container/cluster/cluster.hpp"
#include "container/drivers/claims/objects.hpp"
#include "container/kube/objects/object.hpp"

/// Reads the objects of sandboxes, and finds out whether they still run in the Pods that were noted (noted_pod.hpp).
namespace skiff::container {

/// A sandbox in agent-sandbox.
struct ClaimView {
  kube::Object object;                       ///< the claim, or the bare Sandbox
  std::optional<kube::Object> sandbox = {};  ///< the claim's Sandbox, or the bare Sandbox itself
  std::optional<kube::Object> pod = {};
  Sandbox now = {};
};

/// The Sandbox of a claim, or the bare Sandbox itself; nullopt if there is none, yet or any more.
[[nodiscard]] Task<Result<std::optional<kube::Object>>> sandbox_of(Cluster* cluster, SandboxApi api,
                                                                   kube::Object object);

/// Reads the Sandbox and the Pod, and describes the sandbox by the status of `object` alone.
[[nodiscard]] Task<Result<ClaimView>> read_claim(Cluster* cluster, SandboxApi api, kube::Object object);

/// Describes a sandbox as it is now: one whose Pod has ended, or was replaced, says how. Reads the Sandbox and the Pod
/// unless the state of `object` needs neither. `sandbox_not_found` if it was removed meanwhile.
[[nodiscard]] Task<Result<ClaimView>> look_at_claim(Cluster* cluster, SandboxApi api, kube::Object object);

/// Describes the sandboxes of a list, in that order, as `look_at_claim` does. Lists the Pods once, and reads only those
/// sandboxes one by one whose Pods are not among them. A sandbox that cannot be read is described by its status.
[[nodiscard]] Task<std::vector<Sandbox>> look_at_claims(Cluster* cluster, SandboxApi api,
                                                        std::vector<kube::Object> objects);

}  // namespace skiff::container
