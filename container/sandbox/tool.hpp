#pragma once

#include <chrono>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/task.hpp"
#include "container/sandbox/driver.hpp"

namespace skiff::container {

/// A tool of a sandbox: an executable in one of its tool directories.
struct ToolCall {
  std::string sandbox;
  std::string tool;  ///< a file name, without slashes
  nlohmann::json arguments = nlohmann::json::object();
  std::vector<std::string> directories{"tools",
                                       "/opt/skiff/tools"};  ///< the first that has it; relative ones begin at the root
  std::chrono::milliseconds timeout{60'000};
};

/// Runs it with its arguments as JSON on stdin and in SKIFF_TOOL_ARGS and gives what it answers:
/// {tool, arguments, sandbox_id, pod, cluster_ip, status, result}. `status` is "ok", or "error" when it did not end
/// with status 0; `exit_code` and `stderr` come along then. A result that is not JSON is given as a text. Errors:
/// `sandbox_not_running`; `path_not_found` for a tool that no directory has; `invalid_field` for a name that is none.
[[nodiscard]] Task<Result<nlohmann::json>> call_tool(Driver* driver, ToolCall call);

}  // namespace skiff::container
