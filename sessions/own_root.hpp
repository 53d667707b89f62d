#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "fs/path/tree.hpp"

/// The root of a session that has one of its own, below the agent's. Commands can write there, so no name in it is
/// trusted twice: each step goes by descriptors, and what has become a link since is refused.
namespace skiff::sessions {

struct OwnRoot {
  std::string path;  ///< absolute
  UniqueFd directory;
};

/// Makes the directory `relative` below `agent_root`, whose path is `agent_root_path`, or takes the one that is there.
/// Its path has no links below `agent_root`. Errors: path_escapes_root when a link on the way leaves `agent_root`, and
/// those of making it.
[[nodiscard]] Result<OwnRoot> create_own_root(const fs::Tree& agent_root, const std::string& agent_root_path,
                                              const std::string& relative);

/// Removes it with everything in it. Errors: path_escapes_root when it is no longer where it was made, and of
/// `fs::remove_tree`.
[[nodiscard]] Result<> remove_own_root(const fs::Tree& agent_root, const std::string& agent_root_path,
                                       const std::string& root);

/// `tree`, or what its roots are by now when one was removed. Errors: as of `fs::Tree::reopened`; path_not_found for
/// none, or `why` there is none.
[[nodiscard]] Result<std::shared_ptr<const fs::Tree>> living(std::shared_ptr<const fs::Tree> tree,
                                                             const std::optional<Error>& why = std::nullopt);

}  // namespace skiff::sessions
