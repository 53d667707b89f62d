#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/api/kept_output.hpp"
#include "sessions/process/exit_status.hpp"

namespace skiff::runtime::dialects::python_runtime {

/// The most bytes of output in an answer: the Go SDK takes no more than 16 MiB.
inline constexpr std::size_t kMostAnswerBytes = std::size_t{15} << 20U;

/// The result of a command in the original's terms.
struct Executed {
  int exit_code = 0;  ///< the negative number of the signal that has ended it, if one has
  bool timed_out = false;
  std::string note = {};  ///< a line to append to its stderr
};

/// The result of a command that has ended with `status`. `limit` is its time limit, which the client has set if
/// `asked`. The exit code is 1 if the command could not be started, or took longer than the agent allows, as in the
/// original. It is 124 if it took longer than its client allows, as with timeout(1).
[[nodiscard]] Executed executed(const sessions::ExitStatus& status, std::chrono::milliseconds limit, bool asked);

/// The answer `{"stdout", "stderr", "exit_code", "timed_out"?}`, with the last member if `tells_timeout`, or if the
/// command timed out. Bytes that are not UTF-8 are replaced. Output that does not fit into `most` bytes of JSON is cut
/// in the middle, first of the larger stream. A line at the end of stderr says how much is missing, with what the log
/// itself had dropped.
[[nodiscard]] std::string execute_answer(const api::KeptOutput& output, const Executed& how, bool tells_timeout,
                                         std::size_t most = kMostAnswerBytes);

/// The answer for a command that was not started; `why` is the reason.
[[nodiscard]] std::string failed_answer(std::string_view why, bool tells_timeout);

}  // namespace skiff::runtime::dialects::python_runtime
