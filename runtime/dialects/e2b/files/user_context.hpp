#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "fs/content/target.hpp"
#include "fs/path/change_for.hpp"
#include "fs/tree/directory_to_fill.hpp"
#include "runtime/dialects/e2b/state.hpp"
#include "sessions/spawn/users.hpp"

namespace skiff::runtime::dialects::e2b {

/// Makes a client's path absolute, without "." and "..". `~` and `~/` stand for `home`; a relative path begins at
/// `base`. Errors: invalid_field for another user's `~name`.
[[nodiscard]] Result<std::string> absolute_path(std::string_view path, std::string_view base, std::string_view home);

/// Whether a directory can be in the tree, by its path alone. Nothing is looked up, so it does not block.
[[nodiscard]] bool may_be_in(const fs::Tree& tree, std::string_view path);

/// The user of a request, and where its paths begin.
struct UserContext {
  std::shared_ptr<sessions::Session> session;
  std::shared_ptr<const fs::Tree> tree;
  sessions::Credentials user;
  std::optional<fs::Asker> asker;  ///< none: the agent's own user
  std::string base;                ///< where relative paths begin: /init's directory, the user's home, or the root

  /// The absolute path of a client's path. Errors: those of `absolute_path`.
  [[nodiscard]] Result<std::string> resolve(std::string_view path) const {
    return absolute_path(path, base, user.home);
  }
  /// Returns the error. For a path outside of the root, its message names the root.
  [[nodiscard]] Error explain(Error error, const std::string& path) const;
  /// The owner of a file that the user creates.
  [[nodiscard]] fs::Attributes owner() const;
  /// Runs `work(tree, rights)`, a change that the user asks for, as `fs::change_for` does. Blocks.
  template <class Work>
  [[nodiscard]] auto change(const std::string& path, Work work) const {
    return fs::change_for(asker, *tree, path, std::move(work));
  }
  /// Creates, within a change, a directory and its missing parents, all owned by the user. The end of the result
  /// removes what it has created, unless something is in it. Errors: permission_denied if the agent may not create
  /// something for another user.
  [[nodiscard]] Result<std::optional<fs::DirectoryToFill>> create_directories(const fs::Tree& in,
                                                                              const std::string& path) const;
};

/// Finds the context of a user; an empty name stands for the default user. Errors: user_not_found.
[[nodiscard]] Task<Result<UserContext>> find_user(Call* call, std::string user);

/// The user's name in `Authorization: Basic`; empty: there is none. Errors: unauthenticated for a value that is not
/// base64.
[[nodiscard]] Result<std::string> basic_user(const protocol::Headers& headers);

}  // namespace skiff::runtime::dialects::e2b
