#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "base/error.hpp"
#include "base/task.hpp"
#include "container/serve/service.hpp"
#include "protocol/net/listener.hpp"
#include "protocol/net/places.hpp"

namespace skiff::container::serve {

struct ServerOptions {
  protocol::PlaceLimits places = {};               ///< of connections at the same time
  std::size_t received_bytes = 128 * 1024 * 1024;  ///< and not yet used, of all connections
  std::chrono::milliseconds drain_time{30'000};    ///< for what is under way when it is to stop
};

/// Serves `service` on the listeners until `stopped` ends, then lets what is under way come to its end, and closes all.
[[nodiscard]] Task<Result<>> serve_until(Task<> stopped, Service* service,
                                         std::vector<std::shared_ptr<protocol::Listener>> listeners,
                                         ServerOptions options);

}  // namespace skiff::container::serve
