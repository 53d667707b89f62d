#pragma once

#include <string>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "container/changes/applied_files.hpp"
#include "container/sandbox/sandbox.hpp"
#include "fs/path/tree.hpp"

namespace skiff::container::changes {

/// A directory of this machine and the layer that a sandbox has above it, both open. A path in either follows no link
/// and leaves neither, whatever the sandbox does meanwhile.
struct Workspace {
  /// Errors: `sandbox_conflict` if another directory, or a link, has taken the place of the one that was mounted.
  [[nodiscard]] static Result<Workspace> open(const MountedLayer& mount);

  /// Keeps other calls of `apply` away for as long as the descriptor is open. `sandbox_conflict` if there is one.
  [[nodiscard]] Result<UniqueFd> lock() const;

  MountedLayer mount;
  fs::Tree directory;
  fs::Tree layer;
  AppliedFiles applied;
};

}  // namespace skiff::container::changes
