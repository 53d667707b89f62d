#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "base/task.hpp"
#include "protocol/http/server.hpp"
#include "protocol/http2/exchange.hpp"
#include "protocol/http2/session.hpp"
#include "protocol/net/connections.hpp"

namespace skiff::protocol {

struct Http2ServerOptions {
  /// Of a connection: how long its parts may take, and how many there may be.
  ConnectionLimits limits = {};
  Http2Limits session = {};
  /// For what is received and not yet used: a client that finds no room is told ENHANCE_YOUR_CALM. Null: without a
  /// limit. It must outlive the server.
  ReceiveBudget* received = nullptr;
  /// With streams open and nothing heard for so long, the client is asked for a sign of life.
  std::chrono::milliseconds ping_interval{15'000};
  /// Answers a request. The exchange lives until the returned task ends.
  std::function<Task<>(Http2Exchange&)> handler = {};
  /// Called when a connection finds no free descriptor. True: there may be one now.
  std::function<bool()> out_of_descriptors = {};
};

/// Serves HTTP/2 over plain TCP with prior knowledge (RFC 9113, 3.3): no upgrade, no TLS. A stream's handler is a task
/// of its connection. Everybody may connect, and whoever is not vouched for makes room for others (Places). Reactor
/// thread only.
class Http2Server {
 public:
  Http2Server(Executor executor, Http2ServerOptions options);
  Http2Server(const Http2Server&) = delete;
  Http2Server& operator=(const Http2Server&) = delete;

  /// Accepts from `listener` until that is closed or `stop()`; any number of listeners.
  void listen(std::shared_ptr<Listener> listener) { connections_.listen(std::move(listener)); }

  /// From now on clients are told that no further request is taken (GOAWAY), and connections end with their last one.
  void drain() { connections_.drain(); }
  /// After `drain()`: ends when no connection is left, or after `limit`.
  [[nodiscard]] Task<> drained(std::chrono::milliseconds limit) { return connections_.drained(limit); }
  /// Closes the listeners, cancels every handler and connection, and waits until they have ended.
  [[nodiscard]] Task<> stop() { return connections_.stop(); }

  [[nodiscard]] std::size_t connections() const noexcept { return connections_.open(); }

 private:
  Http2ServerOptions options_;
  Connections connections_;
};

}  // namespace skiff::protocol
