#pragma once

#include <span>
#include <string_view>
#include <variant>

namespace skiff::protocol {
struct ApiOperation;
}

namespace skiff::protocol::service {

/// How a route takes the request's body.
enum class Body : unsigned char {
  none,    ///< it has none to speak of
  json,    ///< it is read whole before the handler runs; the content type must be JSON
  stream,  ///< it is left to the handler
  packed,  ///< the same; the handler sees by the bytes whether they are compressed
};

/// A query parameter that a route knows.
struct QueryParameter {
  std::string_view name;
  std::string_view help;
  std::string_view schema = R"({"type":"string"})";
  bool required = false;
  bool repeated = false;
};

/// The method of a row that takes every method but CONNECT.
inline constexpr std::string_view kAnyMethod = "*";

/// One row of a route table. It holds all there is to know about a route: matching, access, the body's treatment, the
/// name in logs and metrics, and what the OpenAPI document says. `Handler` is the function that answers, `Scope` what
/// a client needs to use the route.
template <class Handler, class Scope = std::monostate>
struct Route {
  std::string_view method;
  /// "/v1/sessions/{sid}/files/{path}": `{name}` takes one segment that is not empty, `{name}:verb` one that ends with
  /// ":verb", and `{path}` at the end takes everything that is left, slashes included.
  std::string_view path;
  std::string_view operation_id = {};
  std::string_view summary = {};
  std::string_view tag = {};
  Scope scope = {};
  Body body = Body::none;
  bool websocket = false;
  bool while_draining = true;  ///< false: 503 once the program drains
  bool is_use = true;          ///< false: it does not count as activity
  /// The query parameter with which a call is long work on files, `kAlwaysLong`: each call is; empty: none.
  std::string_view long_with = {};
  Handler handler = {};
  std::span<const QueryParameter> query = {};
  /// Adds what the other columns do not tell: bodies, answers, problems.
  void (*describe)(ApiOperation& operation) = nullptr;

  [[nodiscard]] constexpr bool passes_on() const noexcept { return method == kAnyMethod; }
};

}  // namespace skiff::protocol::service
