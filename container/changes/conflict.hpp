#pragma once

#include <optional>

#include "base/error.hpp"
#include "container/changes/change.hpp"
#include "container/changes/workspace.hpp"

namespace skiff::container::changes {

/// Looks for what a change would destroy in the directory: a file that somebody else has changed or created there since
/// the sandbox has it, also anywhere in a directory that would go; and for mounts in such a directory.
[[nodiscard]] std::optional<LeftOut> find_conflict(const Workspace& workspace, const Change& change);

}  // namespace skiff::container::changes
