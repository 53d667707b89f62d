#pragma once

#include <string>
#include <vector>

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "container/cluster/cluster.hpp"
#include "container/cluster/rbac.hpp"

namespace skiff::container {

/// The namespaces of the cluster in which the driver has sandboxes, sorted.
[[nodiscard]] Task<Result<std::vector<std::string>>> namespaces_of_sandboxes(Cluster* cluster, ClusterDriver driver);

}  // namespace skiff::container
