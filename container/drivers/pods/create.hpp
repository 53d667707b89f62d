#pragma once

#include <optional>

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "container/cluster/cluster.hpp"
#include "container/cluster/pod/pod_manifest.hpp"
#include "container/drivers/pods/find.hpp"
#include "container/drivers/pods/pools.hpp"
#include "container/drivers/pods/record.hpp"
#include "container/kube/objects/object.hpp"
#include "container/sandbox/progress.hpp"

/// Creates the objects of a sandbox, in an order in which every object has an owner, and waits until its Pod is Ready.
/// The caller cleans up after a failure.
namespace skiff::container {

/// Checks the spec, fills in defaults, and asks the cluster by a dry run whether it would accept such a Pod.
[[nodiscard]] Task<Result<ManifestContext>> prepare_sandbox(Cluster* cluster, SandboxSpec* spec);

/// Creates the record first, because it owns the other objects; a sandbox for one run has none. Then takes a ready Pod
/// from the pool that the spec names, or creates one. `sandbox_conflict` if a record of that name exists.
[[nodiscard]] Task<Result<KnownPod>> create_sandbox(Cluster* cluster, PodPools* pools, PodRecord record,
                                                    bool is_one_shot, ManifestContext context, Progress progress);

/// Finishes the creation of a sandbox that has taken `pod` from a pool; what is done already is left as it is.
[[nodiscard]] Task<Result<KnownPod>> finish_taken(Cluster* cluster, PodPools* pools, PodRecord record,
                                                  kube::Object config_map, kube::Object pod);

/// Creates a new Pod and its other objects for an existing record, and waits for it until the deadline.
[[nodiscard]] Task<Result<KnownPod>> create_pod_ready(Cluster* cluster, PodRecord record,
                                                      std::optional<kube::Object> config_map, ManifestContext context,
                                                      SteadyTime deadline, Progress progress);

/// Creates or changes the policies that the spec needs. The record, if there is one, owns the sandbox's own policy.
[[nodiscard]] Task<Result<>> apply_network(Cluster* cluster, SandboxSpec spec, ManifestContext context,
                                           const kube::Object* config_map);

}  // namespace skiff::container
