#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace skiff::runtime::dialects::python_runtime {

/// How long a command may take, and who says so.
struct ExecuteLimit {
  std::chrono::milliseconds time;
  bool asked = false;  ///< by the client's `timeout_seconds`
};

/// The shortest of what is asked: `timeout_seconds` of the body; `configured`, the value of
/// SANDBOX_EXEC_TIMEOUT_SECONDS; and X-Sandbox-Timeout, the time after which the client takes the answer for lost, from
/// which a tenth is taken away, at most a second, so that it still arrives. Where neither of the first two is given it
/// is 300 seconds. Values that are not finite numbers above 0 count as absent.
[[nodiscard]] ExecuteLimit execute_limit(std::optional<double> timeout_seconds, std::string_view patience,
                                         std::optional<double> configured);

/// A finite number of seconds above 0, blanks around it allowed; nothing: another text.
[[nodiscard]] std::optional<double> seconds_of(std::string_view text);

}  // namespace skiff::runtime::dialects::python_runtime
