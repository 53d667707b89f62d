#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "container/agent/client.hpp"

namespace skiff::container {

/// Bytes that a command printed together.
struct TimedOutput {
  std::uint64_t offset = 0;  ///< both streams counted together
  std::string time;          ///< time from the agent (RFC 3339)
  std::string stream;        ///< "stdout" or "stderr"; on a terminal both are one stream
  std::string bytes;
  /// Number of bytes that were dropped between the previous output and this one. The last element has no bytes if no
  /// output follows the gap.
  std::uint64_t lost_before = 0;
};

/// Reads the output of the command at `command_path()` from an offset up to now. `payload_too_large` when the agent's
/// answer is longer than `most` bytes. An invalid answer is an error as a whole.
[[nodiscard]] Task<Result<std::vector<TimedOutput>>> read_timed_output(AgentClient* agent, std::string command,
                                                                       std::uint64_t from, std::size_t most);

}  // namespace skiff::container
