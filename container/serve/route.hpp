#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "container/serve/keys/api_key.hpp"
#include "container/trace/tracing.hpp"
#include "protocol/http/message.hpp"
#include "protocol/http/server/exchange.hpp"
#include "protocol/service/route.hpp"
#include "protocol/service/router.hpp"

namespace skiff::container::serve {

class Service;

/// The API whose formats a route uses for requests, answers and errors.
enum class Face : std::uint8_t {
  own,  ///< the server's own API: errors are problem documents (RFC 9457)
  e2b,  ///< E2B's control API: errors are {code, message}
};

/// One request that was admitted.
struct Call {
  Service& service;
  protocol::HttpExchange& http;
  std::vector<std::string> parameters = {};  ///< parameters of the path, in their order
  ApiKey key = {};                           ///< empty for a route without a scope
  std::string body = {};                     ///< body, if the route takes one
  TraceParent trace = {};                    ///< parent of the handler's spans
  std::string sandbox = {};                  ///< id of the sandbox that the handler creates, for the logs

  /// The first path parameter.
  [[nodiscard]] const std::string& id() const { return parameters.front(); }
};

using Handler = Task<Result<protocol::HttpResponse>> (*)(Call* call);

/// One row of the table. A row without a scope needs no key; a JSON body has up to `kLongestBody` bytes. The summary is
/// one sentence without a full stop.
using Route = protocol::service::Route<Handler, std::optional<KeyScope>>;

/// The tags of rows, which name the API of a route.
inline constexpr std::string_view kOwnTag = "sandboxes";
inline constexpr std::string_view kE2bTag = "e2b";
[[nodiscard]] inline Face face_of(const Route& route) noexcept {
  return route.tag == kE2bTag ? Face::e2b : Face::own;
}

inline constexpr std::size_t kLongestBody = std::size_t{1} << 20U;

/// THE table.
[[nodiscard]] std::span<const Route> routes();

/// Finds the row for a request.
[[nodiscard]] protocol::service::Match find_route(const protocol::HttpRequest& request);

}  // namespace skiff::container::serve
