#pragma once

#include <sys/types.h>

#include <expected>

#include "base/unique_fd.hpp"
#include "sessions/command_spec.hpp"
#include "sessions/process/exit_status.hpp"

namespace skiff::sessions {

/// Both ends of the pipes, or of the terminal, between the agent and a command. A missing descriptor is /dev/null for
/// the child.
struct CommandPipes {
  UniqueFd child_in, child_out, child_err;  ///< for the spawn request
  UniqueFd feed, out, err;                  ///< the agent's ends, non-blocking
  UniqueFd terminal;                        ///< master of the terminal, for its size and settings
  ino_t stdin_inode = 0;

  /// Opens what `spec` asks for. A failure's stage is "pipe".
  [[nodiscard]] static std::expected<CommandPipes, SpawnFailure> open(const CommandSpec& spec);
};

}  // namespace skiff::sessions
