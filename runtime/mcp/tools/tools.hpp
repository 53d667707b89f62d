#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "runtime/auth/scopes.hpp"
#include "runtime/mcp/request.hpp"

namespace skiff::runtime::mcp {

/// One row of the tool table: what is listed, who may call it and what that does.
struct Tool {
  std::string_view name;
  std::string_view title;
  std::string_view description;  ///< for a model: what it does, and what to call next
  Scope scope = Scope::exec;
  bool read_only = false;
  bool destructive = false;  ///< it may delete or overwrite
  bool idempotent = false;   ///< the same call again changes nothing more
  bool open_world = false;   ///< it reaches beyond the sandbox
  /// JSON Schemas of the arguments and of the structured result.
  std::string (*input)();
  std::string (*output)();
  /// Answers the structured result, a JSON object.
  Task<Result<std::string>> (*run)(std::shared_ptr<Request> request, nlohmann::json arguments);
};

/// THE tool table.
[[nodiscard]] std::span<const Tool> tools();
/// Its parts.
[[nodiscard]] std::span<const Tool> command_tools();
[[nodiscard]] std::span<const Tool> session_tools();
[[nodiscard]] std::span<const Tool> file_tools();

/// tools/list: those that the credential allows.
[[nodiscard]] Task<RpcResult<std::string>> list_tools(std::shared_ptr<Request> request);
/// tools/call. What the tool itself refuses is a result with `isError`, for the model; a tool that is not listed is
/// invalid_params.
[[nodiscard]] Task<RpcResult<std::string>> call_tool(std::shared_ptr<Request> request);

/// Of a list that has one page. Errors: invalid_params, when another one is asked for.
[[nodiscard]] RpcResult<void> sole_page(const Message& message);

/// What a model is told of an error: the code, what happened, and what to do next.
[[nodiscard]] std::string advice_text(const Error& error);

}  // namespace skiff::runtime::mcp
