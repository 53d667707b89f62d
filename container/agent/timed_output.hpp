#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/task.hpp"
#include "container/agent/client.hpp"

namespace skiff::container {

/// Bytes that a command has printed together.
struct TimedOutput {
  std::uint64_t offset = 0;  ///< both streams counted together
  std::string time;          ///< as the agent tells it (RFC 3339)
  std::string stream;        ///< "stdout", "stderr"; both in one on a terminal
  std::string bytes;
  /// What was dropped before it could be read, between these and those before; the last one has no bytes if nothing
  /// came behind the gap.
  std::uint64_t lost_before = 0;
};

/// What the command behind `command_path()` has printed from an offset up to now. `payload_too_large` when the agent
/// tells it in more than `most` bytes. An agent that tells something else is not believed in part.
[[nodiscard]] Task<Result<std::vector<TimedOutput>>> read_timed_output(AgentClient* agent, std::string command,
                                                                       std::uint64_t from, std::size_t most);

}  // namespace skiff::container
