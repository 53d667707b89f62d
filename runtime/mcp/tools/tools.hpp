#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "runtime/auth/scopes.hpp"
#include "runtime/mcp/request.hpp"

namespace skiff::runtime::mcp {

/// A row of the tool table: how a tool is listed, who may call it, and what it does.
struct Tool {
  std::string_view name;
  std::string_view title;
  std::string_view description;  ///< for a model: what it does, and what to call next
  Scope scope = Scope::exec;
  bool read_only = false;
  bool destructive = false;  ///< it may delete or overwrite
  bool idempotent = false;   ///< the same call again changes nothing more
  bool open_world = false;   ///< it reaches beyond the sandbox
  /// The JSON Schemas of the arguments and of the structured result.
  std::string (*input)();
  std::string (*output)();
  /// Runs the tool and returns its structured result, a JSON object.
  Task<Result<std::string>> (*run)(std::shared_ptr<Request> request, nlohmann::json arguments);
};

/// The tool table, which consists of the parts below.
[[nodiscard]] std::span<const Tool> tools();
/// The parts of the tool table.
[[nodiscard]] std::span<const Tool> command_tools();
[[nodiscard]] std::span<const Tool> code_tools();
[[nodiscard]] std::span<const Tool> session_tools();
[[nodiscard]] std::span<const Tool> file_tools();

/// Handles tools/list: the tools that the credential allows.
[[nodiscard]] Task<RpcResult<std::string>> list_tools(std::shared_ptr<Request> request);
/// Handles tools/call. A refusal by the tool itself is a result with `isError`, for the model. A tool that is not
/// listed is invalid_params.
[[nodiscard]] Task<RpcResult<std::string>> call_tool(std::shared_ptr<Request> request);

/// Checks the cursor of a list that has one page. Errors: invalid_params, when another page is asked for.
[[nodiscard]] RpcResult<void> sole_page(const Message& message);

/// The text of an error for a model: the code, what happened, and what to do next.
[[nodiscard]] std::string advice_text(const Error& error);

}  // namespace skiff::runtime::mcp
