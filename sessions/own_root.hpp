#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "fs/path/tree.hpp"

/// The root of a session that has its own below the agent's. Commands can write there, so a name in it may change
/// between two uses: each step uses descriptors, and a name that has become a link is refused.
namespace skiff::sessions {

struct OwnRoot {
  std::string path;  ///< absolute
  UniqueFd directory;
};

/// Creates the directory `relative` below `agent_root`, whose path is `agent_root_path`, or opens the existing one. The
/// returned path has no links below `agent_root`. Errors: path_escapes_root when a link on the way leaves `agent_root`,
/// and those of `fs::create_directory`.
[[nodiscard]] Result<OwnRoot> create_own_root(const fs::Tree& agent_root, const std::string& agent_root_path,
                                              const std::string& relative);

/// Removes the root with its contents; a missing one is not an error. Errors: path_escapes_root when a link
/// replaced a directory of its path, and those of `fs::remove_tree`.
[[nodiscard]] Result<> remove_own_root(const fs::Tree& agent_root, const std::string& agent_root_path,
                                       const std::string& root);

/// Returns `tree`, or reopens its roots when one was removed. Errors: those of `fs::Tree::reopened`; without a tree,
/// `why` or else path_not_found.
[[nodiscard]] Result<std::shared_ptr<const fs::Tree>> living(std::shared_ptr<const fs::Tree> tree,
                                                             const std::optional<Error>& why = std::nullopt);

}  // namespace skiff::sessions
