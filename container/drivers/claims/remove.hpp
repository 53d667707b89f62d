#pragma once

#include <optional>

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "container/cluster/cluster.hpp"
#include "container/drivers/claims/objects.hpp"
#include "container/kube/objects/object.hpp"
#include "container/sandbox/driver.hpp"

namespace skiff::container {

/// Deletes a claim or a bare Sandbox, by its uid, and waits, as `how` says, until its Sandbox and its Pod are gone too.
/// `sandbox` is the object's Sandbox; it may have none yet, and get one while it is being removed. Other objects of
/// these names are not waited for.
[[nodiscard]] Task<Result<>> remove_claim(Cluster* cluster, SandboxApi api, kube::Object object,
                                          std::optional<kube::Object> sandbox, Removal how);

}  // namespace skiff::container
