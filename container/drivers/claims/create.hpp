#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/async/task.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"
#include "container/cluster/cluster.hpp"
#include "container/drivers/claims/objects.hpp"
#include "container/drivers/claims/pools.hpp"
#include "container/kube/objects/object.hpp"

/// Creates the objects from which agent-sandbox's controller creates a sandbox. The caller removes them after a
/// failure.
namespace skiff::container {

/// The values for the objects that are not in the spec.
struct ClaimRequest {
  std::string creation;                ///< the mark of all objects (creation_mark.hpp), and the id of a bare Sandbox
  std::optional<WallTime> until = {};  ///< the end of its lifetime
  bool makes_key = true;               ///< create the namespace's signing key if there is none
};

struct ClaimPlan {
  SandboxApi api = SandboxApi::v1beta1;
  kube::Object object;                      ///< the claim, or the bare Sandbox
  std::vector<kube::Object> policies = {};  ///< policies of a bare Sandbox whose network is restricted
};

/// Checks the spec and fills in defaults. The pool or template that it names must exist.
[[nodiscard]] Task<Result<ClaimPlan>> plan_claim(Cluster* cluster, ClaimPools* pools, SandboxSpec spec,
                                                 ClaimRequest request);

/// Creates the object, and then its policies. `sandbox_conflict` if an object of that name exists.
[[nodiscard]] Task<Result<kube::Object>> create_planned(Cluster* cluster, ClaimPlan plan);

/// Returns the objects that would be created, in that order, after a dry run by the API server. Creates nothing.
[[nodiscard]] Task<Result<std::vector<kube::Object>>> try_planned(Cluster* cluster, ClaimPlan plan);

}  // namespace skiff::container
