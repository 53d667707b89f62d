#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "base/async/event.hpp"
#include "base/async/task.hpp"
#include "base/async/task_group.hpp"
#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "protocol/http/message.hpp"
#include "protocol/http/server/exchange.hpp"
#include "protocol/net/address.hpp"
#include "protocol/net/connection_slots.hpp"
#include "protocol/net/listener.hpp"
#include "protocol/net/receive_budget.hpp"
#include "protocol/net/tls.hpp"

namespace skiff::protocol {

/// The limits of one connection.
struct ConnectionLimits {
  std::size_t header_bytes = 32 * 1024;           ///< limit for the whole head; more is 431
  std::size_t target_bytes = 8 * 1024;            ///< limit for the target; more is 414
  std::chrono::milliseconds header_time{10'000};  ///< from accept or a request's first byte to the end of its head: 408
  std::chrono::milliseconds body_idle_time{30'000};     ///< longest pause within a body: 408
  std::chrono::milliseconds keep_alive_time{75'000};    ///< between requests; then closed silently
  std::chrono::milliseconds stranger_idle_time{5'000};  ///< as `keep_alive_time`, until the connection is authenticated
  std::chrono::milliseconds write_stall_time{30'000};   ///< without progress of the peer; then closed
  std::size_t answers_bytes = 128 * 1024 * 1024;        ///< limit for waiting responses, see HeldAnswers
  std::size_t drain_bytes = 256 * 1024;         ///< unread body bytes that are read to keep the connection; else it is
                                                ///< closed
  std::chrono::milliseconds drain_time{5'000};  ///< time for an unread body; else the connection is closed
  SlotLimits slots = {};                        ///< limits of simultaneous connections, see ConnectionSlots
};

struct HttpServerOptions {
  ConnectionLimits limits = {};
  /// The value of `Server` in responses without one of their own; empty: no field.
  std::string name = {};
  /// The handler checks `Target::fault` itself, because it passes some targets on unchanged. Otherwise such a request
  /// gets a 400.
  bool takes_faulty_targets = false;
  /// The budget for unread bytes: 503 when it has no room. Null: no limit. It must outlive the server.
  ReceiveBudget* received = nullptr;
  /// Handles a request. The exchange lives until the returned task ends.
  std::function<Task<>(HttpExchange&)> handler;
  /// Called when a new connection finds no free descriptor. Returns true if one may be free now.
  std::function<bool()> out_of_descriptors = {};
  /// Creates the response to requests that never reach the handler (broken ones) or whose handler failed (500).
  /// Default: plain text.
  std::function<HttpResponse(unsigned status, const Error& error)> error_response = {};
};

/// Serves HTTP/1.1 and 1.0: keep-alive, pipelining, chunked bodies in both directions, upgrades. Any client may
/// connect; unauthenticated connections (HttpExchange::mark_authenticated) make room for others (ConnectionSlots).
/// Reactor thread only.
class HttpServer {
 public:
  HttpServer(Executor executor, HttpServerOptions options);
  /// `stop()` must have ended.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  /// Accepts from `listener` until it is closed or `stop()`; any number of listeners. With `tls`, it speaks TLS.
  void listen(std::shared_ptr<Listener> listener, std::shared_ptr<TlsContext> tls = nullptr);
  /// Serves one connected socket.
  void serve(UniqueFd socket, Address peer, std::shared_ptr<TlsContext> tls = nullptr);

  /// From now on each response ends its connection, and idle connections are closed. Listening continues.
  void drain();
  /// After `drain()`: waits until no connection is left, or for `limit`.
  [[nodiscard]] Task<> drained(std::chrono::milliseconds limit);
  /// Closes the listeners, cancels all handlers and connections, and waits until they have ended.
  [[nodiscard]] Task<> stop();

  [[nodiscard]] std::size_t connections() const noexcept;
  [[nodiscard]] std::size_t requests() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace skiff::protocol
