#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "container/changes/change.hpp"
#include "container/changes/workspace.hpp"

namespace skiff::container::changes {

/// Most changes that are collected; more are an error.
inline constexpr std::size_t kMostChanges = 1'000'000;

struct Found {
  std::vector<Change> changes;  ///< by path, so a directory stands before what is in it
  std::vector<LeftOut> left_out;
};

/// Reads a path that a user names: relative to the directory, or absolute below it, or below its place in the sandbox.
/// The result is relative; "" is the directory itself. Errors: `path_escapes_root`, `invalid_field`.
[[nodiscard]] Result<std::string> relative_path(const MountedLayer& mount, const std::string& path);

/// Compares what the sandbox sees with the directory, in `paths` and below them; no paths mean everything. Equal
/// type, permissions and content are not a change. A directory that is gone is one change. Owners, times,
/// set-id bits, and whether group and others may write are not compared. Errors: `path_not_found` for a path that
/// neither has; `payload_too_large` for more than `kMostChanges`; `cancelled`.
[[nodiscard]] Result<Found> compare(const Workspace& workspace, const std::vector<std::string>& paths,
                                    const std::stop_token& stop = {});

}  // namespace skiff::container::changes
