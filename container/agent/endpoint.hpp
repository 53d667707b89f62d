#pragma once

#include <functional>
#include <string>

#include "base/error.hpp"
#include "base/task.hpp"
#include "container/trace/tracing.hpp"
#include "protocol/http/client.hpp"
#include "protocol/http/message.hpp"

namespace skiff::container {

/// How the agent of a sandbox is reached: what connects to it (a socket, a port-forward, the API server), what to put
/// around a request on that, and tokens.
struct Endpoint {
  std::string url = {};                     ///< for people: http://127.0.0.1:40123
  std::string way = {};                     ///< the same in a word: local, port-forward, proxy
  protocol::HttpClientOptions client = {};  ///< a dialer in it says `sandbox_not_running` when it is of no use any more
  std::string path_prefix = {};    ///< before every path, for an API server's proxy; without a slash at its end
  protocol::Headers headers = {};  ///< with every request, for a gateway
  /// More of them, asked for before every request: an API server's proxy wants credentials that are valid now. Empty:
  /// none.
  std::function<Task<Result<protocol::Headers>>()> fresh_headers = {};
  std::function<Result<std::string>()> token = {};  ///< one that is valid now
  TraceParent trace = {};                           ///< what requests are part of
};

}  // namespace skiff::container
