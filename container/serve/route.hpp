#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/task.hpp"
#include "container/serve/api_key.hpp"
#include "container/trace/tracing.hpp"
#include "protocol/http/exchange.hpp"
#include "protocol/http/message.hpp"

namespace skiff::container::serve {

class Service;

/// In whose words a route takes requests, answers and refuses.
enum class Face : std::uint8_t {
  own,  ///< ours: errors are problem documents (RFC 9457)
  e2b,  ///< that of E2B's control API: errors are {code, message}
};

/// One request that was let in.
struct Call {
  Service& service;
  protocol::HttpExchange& http;
  std::vector<std::string> parameters = {};  ///< of the path, in its order
  ApiKey key = {};                           ///< empty for a route without a scope
  std::string body = {};                     ///< of a route that takes one
  TraceParent trace = {};                    ///< what it does is a part of this

  /// The first path parameter.
  [[nodiscard]] const std::string& id() const { return parameters.front(); }
};

using Handler = Task<Result<protocol::HttpResponse>> (*)(Call* call);

/// One row of the table: everything there is to know about a route.
struct Route {
  std::string_view method;
  std::string_view path;  ///< "/v1/sandboxes/{id}"
  Face face;
  std::optional<KeyScope> scope;  ///< none: for everybody
  Handler handler;
  std::string_view summary;  ///< one sentence without a full stop
  bool takes_body = false;   ///< JSON, up to `kLongestBody`
};

/// The summary of a route that answers 501 alone.
inline constexpr std::string_view kNotOffered = "Not offered";

inline constexpr std::size_t kLongestBody = std::size_t{1} << 20U;

/// THE table.
[[nodiscard]] std::span<const Route> routes();

struct Match {
  const Route* route = nullptr;
  std::vector<std::string> parameters = {};
  std::string allow = {};  ///< the methods of a path that has others
};
[[nodiscard]] Match match(std::string_view method, const std::vector<std::string>& segments);

}  // namespace skiff::container::serve
