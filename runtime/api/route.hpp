#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/task.hpp"
#include "protocol/json/openapi.hpp"
#include "runtime/auth/scopes.hpp"

namespace skiff::runtime::api {

struct Call;

/// What a route does with the request's body before the handler runs.
enum class Body : unsigned char {
  none,    ///< there is none to speak of
  json,    ///< read whole, at most --max-json-bytes; the content type must be JSON
  stream,  ///< left to the handler
  packed,  ///< the same; the handler sees by the bytes whether they are compressed
};

/// A query parameter that a route knows. One that it does not know is refused.
struct QueryParameter {
  std::string_view name;
  std::string_view help;
  std::string_view schema = R"({"type":"string"})";
  bool required = false;
  bool repeated = false;
};

/// Schemas that parameters share.
inline constexpr std::string_view kNumberParameter = R"({"type":"integer","minimum":0,"maximum":18446744073709551615})";
inline constexpr std::string_view kFlagParameter = R"({"type":"boolean"})";

inline constexpr std::string_view kAlwaysLong = "*";

/// The method of a row that takes every method but CONNECT, with any query: what is asked for is passed on to somebody
/// else, and so are the fields of the request that are not the agent's.
inline constexpr std::string_view kAnyMethod = "*";

/// One row of the route table. Everything about a route comes from its row: matching, the credential's scope, the
/// body's treatment, the name in logs and metrics, and the OpenAPI document.
struct Route {
  std::string_view method;
  std::string_view path;  ///< "/v1/sessions/{sid}"
  std::string_view operation_id;
  std::string_view summary;
  std::string_view tag;
  std::optional<Scope> scope = std::nullopt;  ///< absent: open to everybody
  Body body = Body::none;
  bool websocket = false;
  bool while_draining = true;  ///< false: 503 once the agent drains
  bool is_use = true;          ///< false: it doesn't count as activity for `idle_ttl_ms`
  /// The query parameter with which a call is long work on files, `kAlwaysLong`: each one is; empty: none. Long work
  /// has threads of its own, so that it does not hold up what is over in a moment, and ends soon after its client has
  /// left.
  std::string_view long_with = {};
  Task<Result<>> (*handler)(Call& call);
  std::span<const QueryParameter> query = {};
  /// Request and response bodies for the OpenAPI document.
  void (*describe)(protocol::ApiOperation& operation) = nullptr;

  [[nodiscard]] bool passes_on() const noexcept { return method == kAnyMethod; }
};

/// THE route table.
[[nodiscard]] std::span<const Route> routes();

/// Where clients look for an agent unless they are told: what it listens on when nobody says otherwise.
inline constexpr std::string_view kDefaultHost = "127.0.0.1:7070";

/// The OpenAPI 3.0 document of the table, with each route once: what is short for a route of the default session has no
/// entry of its own.
[[nodiscard]] const std::string& openapi_document();
/// The AsyncAPI 3.0 document of the routes that carry messages: WebSockets and streams.
[[nodiscard]] const std::string& asyncapi_document();

}  // namespace skiff::runtime::api
