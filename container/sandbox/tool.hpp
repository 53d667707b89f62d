#pragma once

#include <chrono>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "container/sandbox/driver.hpp"

namespace skiff::container {

/// A tool of a sandbox: an executable in one of its tool directories.
struct ToolCall {
  std::string sandbox;
  std::string tool;  ///< a file name, without slashes
  nlohmann::json arguments = nlohmann::json::object();
  std::vector<std::string> directories{
      "tools", "/opt/skiff/tools"};  ///< searched in this order; relative ones begin at the root
  std::chrono::milliseconds timeout{60'000};
};

/// Runs the tool with its arguments as JSON on stdin and in SKIFF_TOOL_ARGS, and returns its answer: {tool, arguments,
/// sandbox_id, pod, cluster_ip, status, result}. `status` is "ok", or "error" when the tool did not end with status 0;
/// then there are `exit_code` and `stderr`, too. A result that is not JSON is returned as a text. Errors:
/// `sandbox_not_running`; `path_not_found` if no directory has the tool; `invalid_field` for an invalid name.
[[nodiscard]] Task<Result<nlohmann::json>> call_tool(Driver* driver, ToolCall call);

}  // namespace skiff::container
