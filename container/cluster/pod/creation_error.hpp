#pragma once

#include "base/error.hpp"
#include "container/kube/objects/status.hpp"

namespace skiff::container {

/// The error for an object that the cluster refuses: the quota is used up (`quota_exceeded`), a policy refuses the
/// object (`sandbox_failed`), or an admission webhook fails (`cluster_unavailable`). Otherwise the failure's own error.
[[nodiscard]] Error creation_error(kube::Failure failure);

}  // namespace skiff::container
