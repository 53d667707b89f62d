#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "fs/path/tree.hpp"

namespace skiff::sessions {

/// How far a command is kept in, on top of what the container does.
enum class Isolation : unsigned char {
  none,
  protect,   ///< it can't signal, trace or freeze what is not its own, the agent and other commands, nor set their
             ///< limits
  landlock,  ///< and it writes only below its roots and /tmp, and reads only there and in system directories
};

[[nodiscard]] std::string_view name(Isolation level) noexcept;

/// The levels that this kernel can enforce, `none` first. The others need Landlock with scopes (ABI 6, Linux 6.12) and
/// seccomp filters (`kCallFilter`).
[[nodiscard]] std::vector<Isolation> offered_isolation();

/// Errors: isolation_unavailable.
[[nodiscard]] Result<> check_offered(Isolation level);

/// A Landlock ruleset (landlock(7)) that a child puts on before it becomes a program; each child then is a domain of
/// its own. Immutable, shared by all commands of a session. It implies no_new_privs: no sudo, no set-uid programs.
class Ruleset {
 public:
  /// For commands that may reach `roots`: the directories that are open there, whatever has their names by now. Null
  /// for `none`. Errors: isolation_unavailable where the kernel can't.
  [[nodiscard]] static Result<std::shared_ptr<const Ruleset>> create(Isolation level, const fs::Tree& roots);

  explicit Ruleset(UniqueFd fd) : fd_{std::move(fd)} {}
  [[nodiscard]] int fd() const noexcept { return fd_.get(); }

 private:
  UniqueFd fd_;
};

}  // namespace skiff::sessions
