#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "base/error.hpp"
#include "base/event.hpp"
#include "base/task.hpp"
#include "base/task_group.hpp"
#include "base/unique_fd.hpp"
#include "protocol/http/exchange.hpp"
#include "protocol/http/message.hpp"
#include "protocol/net/address.hpp"
#include "protocol/net/listener.hpp"
#include "protocol/net/places.hpp"
#include "protocol/net/receive_budget.hpp"
#include "protocol/net/tls.hpp"

namespace skiff::protocol {

/// What one connection may use.
struct ConnectionLimits {
  std::size_t header_bytes = 32 * 1024;           ///< all of the head; more is 431
  std::size_t target_bytes = 8 * 1024;            ///< more is 414
  std::chrono::milliseconds header_time{10'000};  ///< from accept or a request's first byte to the end of its head: 408
  std::chrono::milliseconds body_idle_time{30'000};     ///< longest pause within a body: 408
  std::chrono::milliseconds keep_alive_time{75'000};    ///< between requests; then closed without a word
  std::chrono::milliseconds stranger_idle_time{5'000};  ///< the same, at most, until the connection is vouched for
  std::chrono::milliseconds write_stall_time{30'000};   ///< without the peer taking a byte; then closed
  std::size_t answers_bytes = 128 * 1024 * 1024;        ///< that wait for clients, see HeldAnswers
  std::size_t drain_bytes = 256 * 1024;         ///< of an unread body, to keep the connection; else it is closed
  std::chrono::milliseconds drain_time{5'000};  ///< for all of an unread body; the same
  PlaceLimits places = {};                      ///< at the same time, see Places
};

struct HttpServerOptions {
  ConnectionLimits limits = {};
  /// What `Server` says where an answer has none of its own; empty: nothing.
  std::string name = {};
  /// The handler looks at `Target::fault` itself, because it passes some targets on as they are. Else such a request is
  /// answered with 400.
  bool takes_faulty_targets = false;
  /// For what is received and not yet used: 503 when there is no room. Null: without a limit. It must outlive the
  /// server.
  ReceiveBudget* received = nullptr;
  /// Answers a request. The exchange lives until the returned task ends.
  std::function<Task<>(HttpExchange&)> handler;
  /// Called when a connection finds no free descriptor. True: there may be one now.
  std::function<bool()> out_of_descriptors = {};
  /// Makes the response to what never reaches the handler (broken requests) or where it failed (500). Default: plain
  /// text.
  std::function<HttpResponse(unsigned status, const Error& error)> error_response = {};
};

/// Serves HTTP/1.1 and 1.0: keep-alive, pipelining, chunked bodies both ways, upgrades. Everybody may connect, and
/// whoever is not vouched for (HttpExchange) makes room for others (Places). Reactor thread only.
class HttpServer {
 public:
  HttpServer(Executor executor, HttpServerOptions options);
  /// `stop()` must have ended.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  /// Accepts from `listener` until that is closed or `stop()`; any number of listeners. With `tls`, speaks TLS on it.
  void listen(std::shared_ptr<Listener> listener, std::shared_ptr<TlsContext> tls = nullptr);
  /// Serves one connected socket.
  void serve(UniqueFd socket, Address peer, std::shared_ptr<TlsContext> tls = nullptr);

  /// From now on responses end their connection, and idle connections are closed. Listening goes on.
  void drain();
  /// After `drain()`: ends when no connection is left, or after `limit`.
  [[nodiscard]] Task<> drained(std::chrono::milliseconds limit);
  /// Closes the listeners, cancels every handler and connection, and waits until they have ended.
  [[nodiscard]] Task<> stop();

  [[nodiscard]] std::size_t connections() const noexcept;
  [[nodiscard]] std::size_t requests() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace skiff::protocol
