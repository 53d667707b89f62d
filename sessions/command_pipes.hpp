#pragma once

#include <sys/types.h>

#include <expected>

#include "base/unique_fd.hpp"
#include "sessions/command_spec.hpp"
#include "sessions/process/exit_status.hpp"

namespace skiff::sessions {

/// Both sides of what connects the agent and a command: pipes, or a terminal. What a side lacks is /dev/null for the
/// child, and nothing for the agent.
struct CommandPipes {
  UniqueFd child_in, child_out, child_err;  ///< go with the spawn request
  UniqueFd feed, out, err;                  ///< the agent's, non-blocking
  UniqueFd terminal;                        ///< its master, for its size and its settings
  ino_t stdin_inode = 0;

  /// Those that the command asks for. A failure's stage is "pipe".
  [[nodiscard]] static std::expected<CommandPipes, SpawnFailure> open(const CommandSpec& spec);
};

}  // namespace skiff::sessions
