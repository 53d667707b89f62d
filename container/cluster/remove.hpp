#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "base/task.hpp"
#include "container/cluster/cluster.hpp"
#include "container/cluster/pod_wait.hpp"
#include "container/kube/client.hpp"
#include "container/kube/resource.hpp"
#include "container/sandbox/driver.hpp"

/// Removes what sandboxes are made of. A name may have got a new owner since it was looked up, and what a record says
/// can be written by anybody, so everything goes by its labels and its uid: what belongs to another one stays.
namespace skiff::container {

/// The grace period in seconds that the API server is told; nothing: the object's own. Without `force` a Pod has a
/// second at least: at 0 it would not wait for the node.
[[nodiscard]] std::optional<std::int64_t> grace_of(const Removal& how);

/// Deletes the very object that has this uid, and gives what is to be waited for; nothing: it is gone. `conflict()`
/// when another one has its name.
[[nodiscard]] Task<kube::Outcome<std::optional<GoneWait>>> delete_this(Cluster* cluster, GoneWait which,
                                                                       std::optional<std::int64_t> grace_seconds);

/// Deletes it, and waits for its end if `how` says so; nothing to do when it is gone.
[[nodiscard]] Task<Result<>> remove_this(Cluster* cluster, GoneWait which, Removal how);

/// One object of the sandbox with that id; nothing to do when there is none.
[[nodiscard]] Task<Result<>> remove_object(Cluster* cluster, kube::Resource resource, std::string namespace_name,
                                           std::string name, std::string id, Removal how);

}  // namespace skiff::container
