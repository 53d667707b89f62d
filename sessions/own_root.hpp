#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"
#include "fs/tree.hpp"

/// The root of a session that has one of its own, below the agent's. Commands can write there, so no name in it is
/// trusted twice: each step goes by descriptors, and what has become a link since is refused.
namespace skiff::sessions {

/// Makes the directory `relative` below `ground`, or takes the one that is there. Returns its absolute path, without
/// links below `ground`. Errors: path_escapes_root when a link on the way leaves `ground`, and those of making it.
[[nodiscard]] Result<std::string> make_own_root(const std::string& ground, const std::string& relative);

/// Opens it, with the session's other roots. Errors: path_escapes_root when it is no longer where it was made.
[[nodiscard]] Result<fs::Tree> open_own_root(const std::string& ground, const std::string& root,
                                             std::vector<fs::Root> extra);

/// Removes it with everything in it. Errors: as of `open_own_root`, and of `fs::remove_tree`.
[[nodiscard]] Result<> remove_own_root(const std::string& ground, const std::string& root);

}  // namespace skiff::sessions
