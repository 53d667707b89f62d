#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "fs/path/tree.hpp"
#include "runtime/agent.hpp"

namespace skiff::runtime::dialects::sandboxd {

/// A client's path as one relative to the root, "." for the root itself. As in the original ".." is taken away from the
/// text; an absolute path begins at the root, unless it already is one below it, as `pwd` prints it. Nothing is looked
/// up: links are the tree's matter. Errors: path_escapes_root.
[[nodiscard]] Result<std::string> sandbox_path(std::string_view path, std::string_view root);

/// The directories that the default session's files are in.
struct Sandbox {
  std::shared_ptr<sessions::Session> session;
  std::shared_ptr<const fs::Tree> tree;
  std::string root;  ///< absolute, as it was configured
};
/// Errors: those of opening the root.
[[nodiscard]] Task<Result<Sandbox>> open_sandbox(Agent* agent);

}  // namespace skiff::runtime::dialects::sandboxd
