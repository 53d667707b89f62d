#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

/// The messages of JSON-RPC 2.0 (jsonrpc.org/specification) as the Model Context Protocol uses them.
namespace skiff::runtime::mcp {

/// The codes of JSON-RPC, then those of the protocol's revisions.
enum class RpcCode : std::int16_t {
  parse_error = -32700,
  invalid_request = -32600,
  method_not_found = -32601,
  invalid_params = -32602,
  internal_error = -32603,
  session_not_found = -32001,   ///< up to 2025-11-25, as the official servers have it
  resource_not_found = -32002,  ///< up to 2025-11-25
  header_mismatch = -32020,     ///< from 2026-07-28 on, like the next
  unsupported_version = -32022,
};

struct RpcError {
  RpcCode code = RpcCode::internal_error;
  std::string message;    ///< one sentence that says what to do
  std::string data = {};  ///< JSON; empty: none
};
template <class T>
using RpcResult = std::expected<T, RpcError>;

/// One message of a client.
struct Message {
  enum class Kind : std::uint8_t { request, notification, response } kind = Kind::request;
  std::string id = {};      ///< a request's id as JSON, so that 1 and "1" differ
  std::string method = {};  ///< empty for a response
  nlohmann::json params = nlohmann::json::object();

  /// A string in the params; empty: there is none.
  [[nodiscard]] std::string text(const char* name) const;
  /// A member of `params._meta`; null when there is none.
  [[nodiscard]] nlohmann::json meta(const char* name) const;
  /// The cursor of a page of a list; empty: the first page. Errors: invalid_params.
  [[nodiscard]] RpcResult<std::string> cursor() const;
  /// The token of progress notifications, as JSON; empty: the client has not asked for them. Errors: invalid_params for
  /// a token that is not a string or an integer, or is longer than an id may be: each notification repeats it.
  [[nodiscard]] RpcResult<std::string> progress_token() const;
};

/// Reads a message. Its id, if it can be read, is left in `id` for the answer. Errors: invalid_request.
[[nodiscard]] RpcResult<Message> read_message(const nlohmann::json& value, std::string& id);

/// These three compose whole messages. `result`, `params` and ids are JSON; an empty id becomes null.
[[nodiscard]] std::string result_message(std::string_view id, std::string_view result);
[[nodiscard]] std::string error_message(std::string_view id, const RpcError& error);
[[nodiscard]] std::string notification_message(std::string_view method, std::string_view params);

/// The text of `value`, in which invalid UTF-8 is replaced.
[[nodiscard]] std::string json_of(const nlohmann::json& value);

}  // namespace skiff::runtime::mcp
