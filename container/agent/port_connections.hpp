#pragma once

#include <cstdint>

#include "base/error.hpp"
#include "base/task.hpp"
#include "base/task_group.hpp"
#include "container/agent/endpoint.hpp"
#include "protocol/net/stream.hpp"

namespace skiff::container {

/// Connections to TCP ports of a sandbox through its agent, for where nothing else leads to them: each is a WebSocket
/// at `/v1/ports/{port}:tcp`. What comes out is an ordinary Stream (one end of a socket pair, moved by a task of this
/// object) of which either direction ends by itself. Reactor thread only.
class PortConnections {
 public:
  explicit PortConnections(Executor executor) : executor_{executor}, open_{executor} {}
  PortConnections(const PortConnections&) = delete;
  PortConnections& operator=(const PortConnections&) = delete;

  /// A new one; the server has taken it. Errors: the agent's (port_not_listening, invalid_field for a port of its own,
  /// insufficient_scope, timeout), `not_supported` for an agent that is older than this way, or for something on the
  /// way that lets no WebSocket through.
  [[nodiscard]] Task<Result<protocol::Stream>> connect(Endpoint endpoint, std::uint16_t port);
  /// Ends all of them; call it before the object goes away.
  [[nodiscard]] Task<> close();

  [[nodiscard]] std::size_t size() const noexcept { return open_.size(); }

 private:
  Executor executor_;
  TaskGroup open_;
};

}  // namespace skiff::container
