#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "base/async/task.hpp"
#include "protocol/http/server/server.hpp"
#include "protocol/http2/exchange.hpp"
#include "protocol/http2/session.hpp"
#include "protocol/net/connections.hpp"

namespace skiff::protocol {

struct Http2ServerOptions {
  /// Limits of a connection: times and counts.
  ConnectionLimits limits = {};
  Http2Limits session = {};
  /// The budget for unread bytes: a client that finds no room gets ENHANCE_YOUR_CALM. Null: no limit. It must outlive
  /// the server.
  ReceiveBudget* received = nullptr;
  /// With open streams and no byte from the client for this long, the server sends a PING.
  std::chrono::milliseconds ping_interval{15'000};
  /// Handles a request. The exchange lives until the returned task ends.
  std::function<Task<>(Http2Exchange&)> handler = {};
  /// Called when a new connection finds no free descriptor. Returns true if one may be free now.
  std::function<bool()> out_of_descriptors = {};
};

/// Serves HTTP/2 over plain TCP with prior knowledge (RFC 9113, 3.3): no upgrade, no TLS. A stream's handler is a task
/// of its connection. Any client may connect; unauthenticated connections make room for others (ConnectionSlots).
/// Reactor thread only.
class Http2Server {
 public:
  Http2Server(Executor executor, Http2ServerOptions options);
  Http2Server(const Http2Server&) = delete;
  Http2Server& operator=(const Http2Server&) = delete;

  /// Accepts from `listener` until it is closed or `stop()`; any number of listeners.
  void listen(std::shared_ptr<Listener> listener) { connections_.listen(std::move(listener)); }

  /// From now on no further request is accepted (GOAWAY), and each connection ends with its last request.
  void drain() { connections_.drain(); }
  /// After `drain()`: waits until no connection is left, or for `limit`.
  [[nodiscard]] Task<> drained(std::chrono::milliseconds limit) { return connections_.drained(limit); }
  /// Closes the listeners, cancels all handlers and connections, and waits until they have ended.
  [[nodiscard]] Task<> stop() { return connections_.stop(); }

  [[nodiscard]] std::size_t connections() const noexcept { return connections_.open(); }

 private:
  Http2ServerOptions options_;
  Connections connections_;
};

}  // namespace skiff::protocol
