#pragma once

#include <optional>
#include <string>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/task.hpp"
#include "container/cluster/claims/objects.hpp"
#include "container/cluster/claims/pools.hpp"
#include "container/cluster/cluster.hpp"
#include "container/kube/object.hpp"

/// Makes the objects out of which the controller of agent-sandbox makes a sandbox. Taking them back after a failure is
/// the caller's.
namespace skiff::container {

/// What the objects depend on beside the spec.
struct ClaimWish {
  std::string creation;                ///< the mark of all of them (creation_mark.hpp), and the id of a bare Sandbox
  std::optional<WallTime> until = {};  ///< the end of its lifetime
  bool makes_key = true;               ///< the namespace's signing key, if there is none
};

struct ClaimPlan {
  SandboxApi api = SandboxApi::v1beta1;
  kube::Object object;                      ///< the claim, or the bare Sandbox
  std::optional<kube::Object> policy = {};  ///< of a bare Sandbox that is not to reach everything
};

/// Checks the spec and fills in what it leaves open. The pool or the template that it names must be there.
[[nodiscard]] Task<Result<ClaimPlan>> plan_claim(Cluster* cluster, ClaimPools* pools, SandboxSpec spec, ClaimWish wish);

/// The object, and then its policy. `sandbox_conflict` when there is one of that name.
[[nodiscard]] Task<Result<kube::Object>> make_planned(Cluster* cluster, ClaimPlan plan);

/// What would be made, in its order, after the API server has said that it would take it. Nothing is made.
[[nodiscard]] Task<Result<std::vector<kube::Object>>> try_planned(Cluster* cluster, ClaimPlan plan);

}  // namespace skiff::container
