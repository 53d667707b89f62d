#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "fs/path/tree.hpp"

namespace skiff::sessions {

/// How far a command is isolated, in addition to the container.
enum class Isolation : unsigned char {
  none,
  protect,   ///< it cannot signal, trace or freeze the agent, other commands and other processes, nor set their
             ///< limits
  landlock,  ///< in addition it writes only below its roots and /tmp, and reads only there and in system directories
};

[[nodiscard]] std::string_view name(Isolation level) noexcept;

/// The levels that this kernel can enforce, `none` first. The others need Landlock with scopes (ABI 6, Linux 6.12) and
/// seccomp filters (`kCallFilter`).
[[nodiscard]] std::vector<Isolation> offered_isolation();

/// Checks that the kernel can enforce `level`. Errors: isolation_unavailable.
[[nodiscard]] Result<> check_offered(Isolation level);

/// A Landlock ruleset (landlock(7)) that a child enforces on itself before it executes its program; each child is then
/// a domain of its own. Immutable, and shared by all commands of a session. It implies no_new_privs: no sudo, no
/// set-uid programs.
class Ruleset {
 public:
  /// Creates the rules for commands that may use `roots`; the rules are about the open directories, whatever has their
  /// names now. Null for `none`. Errors: isolation_unavailable, and errors of reading the directories.
  [[nodiscard]] static Result<std::shared_ptr<const Ruleset>> create(Isolation level, const fs::Tree& roots);

  explicit Ruleset(UniqueFd fd) : fd_{std::move(fd)} {}
  [[nodiscard]] int fd() const noexcept { return fd_.get(); }

 private:
  UniqueFd fd_;
};

}  // namespace skiff::sessions
