#pragma once

#include <optional>

#include "base/error.hpp"
#include "base/task.hpp"
#include "container/cluster/cluster.hpp"
#include "container/cluster/pod_manifest.hpp"
#include "container/cluster/pods/find.hpp"
#include "container/cluster/pods/pools.hpp"
#include "container/cluster/pods/record.hpp"
#include "container/kube/object.hpp"
#include "container/sandbox/progress.hpp"

/// Makes what a sandbox is made of, in the order that leaves nothing without an owner, and waits until its Pod is
/// Ready. Cleaning up after a failure is the caller's.
namespace skiff::container {

/// Checks the spec, fills in what it leaves open, and asks the cluster by a dry run whether it would take such a Pod.
[[nodiscard]] Task<Result<ManifestContext>> prepare_sandbox(Cluster* cluster, SandboxSpec* spec);

/// The record first, since it owns what follows; for one run there is none. Then a Pod: one out of the pool that the
/// spec names, when one is ready, else a new one. `sandbox_conflict` when there is a record of that name.
[[nodiscard]] Task<Result<KnownPod>> make_sandbox(Cluster* cluster, PodPools* pools, PodRecord record, bool is_one_shot,
                                                  ManifestContext context, Progress progress);

/// A new Pod and all around it, for a record that exists.
[[nodiscard]] Task<Result<KnownPod>> make_pod_ready(Cluster* cluster, PodRecord record,
                                                    std::optional<kube::Object> config_map, ManifestContext context,
                                                    Progress progress);

/// The policy that the spec needs, made or changed; one of its own belongs to the record, if there is one.
[[nodiscard]] Task<Result<>> apply_network(Cluster* cluster, SandboxSpec spec, ManifestContext context,
                                           const kube::Object* config_map);

}  // namespace skiff::container
