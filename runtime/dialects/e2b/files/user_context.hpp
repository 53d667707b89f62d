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

/// A path as a client means it, absolute and without "." and "..": `~` and `~/` stand for `home`, what is relative
/// begins at `base`. Errors: invalid_field for another user's `~name`.
[[nodiscard]] Result<std::string> absolute_path(std::string_view path, std::string_view base, std::string_view home);

/// Whether a directory can be in the tree, by its path alone: nothing is looked up, so it does not block.
[[nodiscard]] bool may_be_in(const fs::Tree& tree, std::string_view path);

/// Whose request it is, and where its paths begin.
struct UserContext {
  std::shared_ptr<sessions::Session> session;
  std::shared_ptr<const fs::Tree> tree;
  sessions::Credentials user;
  std::optional<fs::Asker> asker;  ///< none: the agent's own user
  std::string base;                ///< where relative paths begin: /init's directory, the user's home, or the root

  /// Errors: as `absolute_path`.
  [[nodiscard]] Result<std::string> resolve(std::string_view path) const {
    return absolute_path(path, base, user.home);
  }
  /// Says what to do about a path that is outside of the root.
  [[nodiscard]] Error explain(Error error, const std::string& path) const;
  /// What a file of the user's is given.
  [[nodiscard]] fs::Attributes owner() const;
  /// Runs `work(tree, rights)`, a change that the user asks for, as `fs::change_for` has it. It blocks.
  template <class Work>
  [[nodiscard]] auto change(const std::string& path, Work work) const {
    return fs::change_for(asker, *tree, path, std::move(work));
  }
  /// Within a change: makes the directory with all that is missing on the way to it, all of it the user's. What was
  /// made goes again with the result, unless something is in it. Errors: permission_denied where the agent may not make
  /// something for another user.
  [[nodiscard]] Result<std::optional<fs::DirectoryToFill>> create_directories(const fs::Tree& in,
                                                                              const std::string& path) const;
};

/// `user`: a name, or empty for the one by default. Errors: user_not_found.
[[nodiscard]] Task<Result<UserContext>> find_user(Call* call, std::string user);

/// The user of `Authorization: Basic`, empty without one. Errors: unauthenticated for what is not base64.
[[nodiscard]] Result<std::string> basic_user(const protocol::Headers& headers);

}  // namespace skiff::runtime::dialects::e2b
