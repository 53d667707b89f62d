#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "fs/path/tree.hpp"
#include "runtime/agent.hpp"

namespace skiff::runtime::dialects::sandboxd {

/// A client's path relative to the root, "." for the root itself. As in the original, ".." is resolved in the text. An
/// absolute path begins at the root, unless it already begins with the root's own path, as `pwd` prints it. Nothing is
/// looked up: the tree follows links later. Errors: path_escapes_root.
[[nodiscard]] Result<std::string> sandbox_path(std::string_view path, std::string_view root);

/// The directory of the default session's files.
struct Sandbox {
  std::shared_ptr<sessions::Session> session;
  std::shared_ptr<const fs::Tree> tree;
  std::string root;  ///< absolute, as it was configured
};
/// Opens the root of the default session. Errors: those of opening it.
[[nodiscard]] Task<Result<Sandbox>> open_sandbox(const sessions::Registry* registry);

}  // namespace skiff::runtime::dialects::sandboxd
