#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace skiff::runtime::dialects::python_runtime {

/// The time limit of a command, and who has set it.
struct ExecuteLimit {
  std::chrono::milliseconds time;
  bool asked = false;  ///< the client has set it, by `timeout_seconds`
};

/// The shortest of the limits that are given: `timeout_seconds` of the body; `configured`, the value of
/// SANDBOX_EXEC_TIMEOUT_SECONDS; and `patience`, the value of X-Sandbox-Timeout, after which the client gives up. A
/// tenth of the last one, at most a second, is subtracted, so that the answer still arrives. If neither of the first
/// two is given, 300 seconds stand for them. A value that is not a finite number above 0 counts as absent.
[[nodiscard]] ExecuteLimit execute_limit(std::optional<double> timeout_seconds, std::string_view patience,
                                         std::optional<double> configured);

/// Reads a finite number of seconds above 0, with blanks around it; nothing: the text is another one.
[[nodiscard]] std::optional<double> seconds_of(std::string_view text);

}  // namespace skiff::runtime::dialects::python_runtime
