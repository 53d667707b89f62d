#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/scope_counter.hpp"
#include "runtime/activity.hpp"

namespace skiff::protocol {
class HttpServer;
}

namespace skiff::runtime {

/// The connections of the agent's clients.
struct Connections {
  const protocol::HttpServer* server = nullptr;
  std::vector<std::uint16_t> own_ports;  ///< ports on which the agent and its dialects listen
  std::size_t websockets = 0;            ///< WebSockets that are open
};

/// Counts a WebSocket while it is open, and keeps the sandbox in use.
class OpenSocket {
 public:
  OpenSocket(Connections& connections, Activity& activity) : counted_{connections.websockets}, use_{activity} {}

 private:
  ScopeCounter counted_;
  Activity::Use use_;
};

}  // namespace skiff::runtime
