#pragma once

#include "base/async/task.hpp"
#include "protocol/http/server/exchange.hpp"
#include "runtime/agent.hpp"

namespace skiff::runtime::mcp {
class Clients;
}

namespace skiff::runtime::api {

/// Handles one request: request id, Host and Origin, credential, route, scope, body, handler. If one of these fails, it
/// answers with a problem document. Then it records the request in the logs and metrics. `mcp_clients` is for the
/// routes of /mcp.
[[nodiscard]] Task<> dispatch(Agent& agent, mcp::Clients& mcp_clients, protocol::HttpExchange& http);

}  // namespace skiff::runtime::api
