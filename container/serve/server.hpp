#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "container/serve/service.hpp"
#include "protocol/net/connection_slots.hpp"
#include "protocol/net/listener.hpp"

namespace skiff::container::serve {

struct ServerOptions {
  protocol::SlotLimits slots = {};                 ///< limits of connections at the same time
  std::size_t received_bytes = 128 * 1024 * 1024;  ///< most bytes of all connections that are received and not used yet
  std::chrono::milliseconds drain_time{30'000};    ///< time for running requests when the server stops
  /// Answers each request in place of the service, and may pass it on to it; empty: the service answers.
  std::function<Task<>(protocol::HttpExchange&)> front = {};
  bool keeps_clean = true;  ///< remove expired sandboxes, and refill pools
};

/// Serves `service` on the listeners until `stopped` ends, then lets running requests finish, and closes all
/// connections.
[[nodiscard]] Task<Result<>> serve_until(Task<> stopped, Service* service,
                                         std::vector<std::shared_ptr<protocol::Listener>> listeners,
                                         ServerOptions options);

}  // namespace skiff::container::serve
