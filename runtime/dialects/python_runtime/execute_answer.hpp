#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/api/kept_output.hpp"
#include "sessions/process/exit_status.hpp"

namespace skiff::runtime::dialects::python_runtime {

/// An answer is at most so large: the Go SDK takes no more than 16 MiB.
inline constexpr std::size_t kMostAnswerBytes = std::size_t{15} << 20U;

/// How a command went, in the original's terms.
struct Executed {
  int exit_code = 0;  ///< the negative signal number where a signal ended it
  bool timed_out = false;
  std::string note = {};  ///< a line to put behind its stderr
};

/// `limit` is what `Cause::timeout` means. A command that could not be started, or took longer than the agent allows,
/// has 1, as with the original; one that took longer than its client allows has 124, as timeout(1) says.
[[nodiscard]] Executed executed(const sessions::ExitStatus& status, std::chrono::milliseconds limit, bool asked);

/// `{"stdout", "stderr", "exit_code", "timed_out"?}`, the last one when `tells_timeout` or when it did time out. Bytes
/// that are not UTF-8 are replaced. What does not fit into `most` bytes of JSON is left out in the middle of the larger
/// stream, and a line at the end of stderr says how much that is, with what the log itself had dropped.
[[nodiscard]] std::string execute_answer(const api::KeptOutput& output, const Executed& how, bool tells_timeout,
                                         std::size_t most = kMostAnswerBytes);

/// The same for a command that never began.
[[nodiscard]] std::string failed_answer(std::string_view why, bool tells_timeout);

}  // namespace skiff::runtime::dialects::python_runtime
