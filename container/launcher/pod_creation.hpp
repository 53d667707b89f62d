#pragma once

#include <optional>

#include "base/error.hpp"
#include "base/task.hpp"
#include "container/kube/object.hpp"
#include "container/launcher/cluster.hpp"
#include "container/launcher/pod_lookup.hpp"
#include "container/launcher/pod_manifest.hpp"
#include "container/launcher/pod_record.hpp"
#include "container/launcher/progress.hpp"

/// Makes what a sandbox is made of, in the order that leaves nothing without an owner, and waits until its Pod is
/// Ready. Cleaning up after a failure is the caller's.
namespace skiff::container {

/// Checks the spec, fills in what it leaves open, and asks the cluster by a dry run whether it would take such a Pod.
[[nodiscard]] Task<Result<ManifestContext>> prepare_sandbox(Cluster* cluster, SandboxSpec* spec);

/// The record first, since it owns what follows; for one run there is none. `sandbox_conflict` when it exists.
[[nodiscard]] Task<Result<KnownPod>> make_sandbox(Cluster* cluster, PodRecord record, bool is_one_shot,
                                                  ManifestContext context, Progress progress);

/// The same with a record that exists.
[[nodiscard]] Task<Result<KnownPod>> make_pod_ready(Cluster* cluster, PodRecord record,
                                                    std::optional<kube::Object> config_map, ManifestContext context,
                                                    Progress progress);

}  // namespace skiff::container
