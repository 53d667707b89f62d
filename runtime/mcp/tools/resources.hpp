#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "runtime/mcp/request.hpp"

namespace skiff::runtime::mcp {

/// The file or log that a URI names: skiff://SESSION/files/PATH, skiff://SESSION/logs/COMMAND. SESSION and COMMAND are
/// ids. PATH is below the session's root, its names percent-encoded.
struct ResourceName {
  enum class Kind : std::uint8_t { file, log } kind = Kind::file;
  std::string session;
  std::string rest;  ///< the path, or the command's id

  /// Reads a URI. Errors: invalid_field.
  [[nodiscard]] static Result<ResourceName> parse(std::string_view uri);
  [[nodiscard]] std::string uri() const;
};

/// The JSON-RPC error for `error` in the request's revision.
[[nodiscard]] RpcError rpc_error(const Request& request, const Error& error);

/// Handles resources/list: the files at the top of the credential's session, and the logs of its newest commands.
[[nodiscard]] Task<RpcResult<std::string>> list_resources(std::shared_ptr<Request> request);
[[nodiscard]] Task<RpcResult<std::string>> list_resource_templates(std::shared_ptr<Request> request);
[[nodiscard]] Task<RpcResult<std::string>> read_resource(std::shared_ptr<Request> request);

/// These two handle resources/subscribe and resources/unsubscribe. Changes are reported in the client's `news`.
[[nodiscard]] Task<RpcResult<std::string>> subscribe(std::shared_ptr<Request> request);
[[nodiscard]] Task<RpcResult<std::string>> unsubscribe(std::shared_ptr<Request> request);
/// Handles subscriptions/listen: changes are reported in the request's own stream, until it is cancelled.
[[nodiscard]] Task<RpcResult<std::string>> listen_to_subscriptions(std::shared_ptr<Request> request);

}  // namespace skiff::runtime::mcp
