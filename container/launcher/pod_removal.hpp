#pragma once

#include <string>

#include "base/error.hpp"
#include "base/task.hpp"
#include "container/kube/resource.hpp"
#include "container/launcher/cluster.hpp"
#include "container/launcher/pod_lookup.hpp"

/// Removes what sandboxes are made of, and waits until it is gone. A name may have got a new owner since it was looked
/// up, so everything goes by its id: what belongs to a successor stays.
namespace skiff::container {

/// One object of the sandbox with that id; nothing to do when there is none.
[[nodiscard]] Task<Result<>> remove_object(Cluster* cluster, kube::Resource resource, std::string namespace_name,
                                           std::string name, std::string id);

/// Its Pod and its service; record and volumes stay.
[[nodiscard]] Task<Result<>> remove_workload(Cluster* cluster, const KnownPod* known);

/// All of it, the record first. Where somebody else has removed that already, all is well.
[[nodiscard]] Task<Result<>> remove_sandbox(Cluster* cluster, const KnownPod* known);

}  // namespace skiff::container
