#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "container/cluster/cluster.hpp"
#include "container/cluster/pod/pod_wait.hpp"
#include "container/kube/client.hpp"
#include "container/kube/objects/resource.hpp"
#include "container/sandbox/driver.hpp"

/// Removes the objects of sandboxes. A name may have got a new owner since it was read, and other users can write
/// records, so objects are removed by their labels and uids: objects of others stay.
namespace skiff::container {

/// The grace period in seconds for the API server; nullopt: the object's own. Without `force` a Pod gets at least a
/// second: with 0 the API server would not wait for the node.
[[nodiscard]] std::optional<std::int64_t> grace_of(const Removal& how);

/// Deletes the object with this uid, and returns what to wait for; nullopt if it is gone. `conflict()` if another
/// object has its name.
[[nodiscard]] Task<kube::Outcome<std::optional<GoneWait>>> delete_this(Cluster* cluster, GoneWait which,
                                                                       std::optional<std::int64_t> grace_seconds);

/// Deletes the object, and waits for its end if `how` says so. Does nothing if it is gone.
[[nodiscard]] Task<Result<>> remove_this(Cluster* cluster, GoneWait which, Removal how);

/// Removes one object of the sandbox with that id. Does nothing if there is none.
[[nodiscard]] Task<Result<>> remove_object(Cluster* cluster, kube::Resource resource, std::string namespace_name,
                                           std::string name, std::string id, Removal how);

}  // namespace skiff::container
