#pragma once

#include <functional>
#include <string>

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "container/trace/tracing.hpp"
#include "protocol/http/client.hpp"
#include "protocol/http/message.hpp"

namespace skiff::container {

/// How to reach the agent of a sandbox: the connection (a socket, a port-forward, the API server), what to add to each
/// request on it, and the tokens.
struct Endpoint {
  std::string url = {};  ///< for people: http://127.0.0.1:40123
  std::string way = {};  ///< one word for it: local, port-forward, proxy
  protocol::HttpClientOptions client =
      {};                          ///< its dialer fails with `sandbox_not_running` when this endpoint is of no more use
  std::string path_prefix = {};    ///< precedes every path, for an API server's proxy; has no slash at its end
  protocol::Headers headers = {};  ///< sent with every request, for a gateway
  /// Called before every request for more headers: an API server's proxy needs credentials that are valid now. May be
  /// empty.
  std::function<Task<Result<protocol::Headers>>()> fresh_headers = {};
  std::function<Result<std::string>()> token = {};  ///< returns a token that is valid now
  TraceParent trace = {};                           ///< the trace that requests are part of
};

}  // namespace skiff::container
