#pragma once

#include "base/error.hpp"
#include "container/kube/status.hpp"

namespace skiff::container {

/// Why the cluster does not take an object, where that has a reason of its own: its quota is used up
/// (`quota_exceeded`), its policy refuses it (`sandbox_failed`), what asks its policy does not answer
/// (`cluster_unavailable`). Else the failure's own error.
[[nodiscard]] Error creation_error(kube::Failure failure);

}  // namespace skiff::container
