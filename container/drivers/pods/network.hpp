#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "container/cluster/cluster.hpp"
#include "container/drivers/pods/find.hpp"

namespace skiff::container {

/// The changes that a network makes to a sandbox's objects, beside the policy that `apply_network` creates.
struct NetworkPlan {
  std::string pod_label;        ///< value of `labels::kNetwork`; empty: the Pod has none
  nlohmann::json exposure;      ///< members of the Service's spec; may be empty
  std::string unwanted_policy;  ///< name of the sandbox's own NetworkPolicy, if it must not have one; else empty
};
[[nodiscard]] NetworkPlan plan_network(const SandboxSpec& spec, const std::string& prefix);

/// Changes what a sandbox may reach, and who may reach it, first in its record, which `known` must have. Empty
/// arguments keep what there is. An error tells what was changed by then; the same call again changes the rest.
[[nodiscard]] Task<Result<PodOptions>> change_network(Cluster* cluster, KnownPod known, std::string network,
                                                      std::vector<std::string> allow);

}  // namespace skiff::container
