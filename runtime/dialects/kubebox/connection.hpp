#pragma once

#include <string>

#include "base/async/task.hpp"
#include "protocol/http/server/exchange.hpp"
#include "runtime/agent.hpp"
#include "runtime/dialects/kubebox/waiting_streams.hpp"

namespace skiff::runtime::dialects::kubebox {

/// Serves one Socket.IO connection, from Engine.IO's handshake to its end. It carries the output of many processes at
/// once, each at the client's pace. If it breaks without a goodbye, its streams go to `waiting`, and from there to the
/// next connection from the same `host`.
[[nodiscard]] Task<> serve_connection(protocol::Upgraded upgraded, Agent* agent, WaitingStreams* waiting,
                                      std::string host);

}  // namespace skiff::runtime::dialects::kubebox
