#pragma once

#include <cstdint>

#include "base/async/task.hpp"
#include "base/async/task_group.hpp"
#include "base/error.hpp"
#include "container/agent/endpoint.hpp"
#include "protocol/net/stream.hpp"

namespace skiff::container {

/// Connections to TCP ports of a sandbox through its agent, for sandboxes that cannot be reached directly. Each is a
/// WebSocket at `/v1/ports/{port}:tcp`. The caller gets an ordinary Stream: one end of a socket pair, which a task of
/// this object serves. Each direction ends by itself. Reactor thread only.
class PortConnections {
 public:
  explicit PortConnections(Executor executor) : executor_{executor}, open_{executor} {}
  PortConnections(const PortConnections&) = delete;
  PortConnections& operator=(const PortConnections&) = delete;

  /// Opens a connection that the server in the sandbox has accepted. Errors: the agent's (port_not_listening,
  /// invalid_field for a port of the agent's own, insufficient_scope, timeout); `not_supported` when the agent is too
  /// old for this, or when a proxy on the way refuses WebSockets.
  [[nodiscard]] Task<Result<protocol::Stream>> connect(Endpoint endpoint, std::uint16_t port);
  /// Ends all connections; call it before the object is destroyed.
  [[nodiscard]] Task<> close();

  [[nodiscard]] std::size_t size() const noexcept { return open_.size(); }

 private:
  Executor executor_;
  TaskGroup open_;
};

}  // namespace skiff::container
