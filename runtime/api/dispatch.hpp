#pragma once

#include "base/async/task.hpp"
#include "protocol/http/server/exchange.hpp"
#include "runtime/agent.hpp"

namespace skiff::runtime::api {

/// Takes one request from its head to its end: request id, Host and Origin, credential, route, scope, body, handler,
/// and the problem document when one of these says no; then the access-log line.
[[nodiscard]] Task<> dispatch(Agent& agent, protocol::HttpExchange& http);

}  // namespace skiff::runtime::api
