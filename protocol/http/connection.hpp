#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/task.hpp"
#include "protocol/http/exchange.hpp"
#include "protocol/http/held_answers.hpp"
#include "protocol/http/input.hpp"
#include "protocol/http/message.hpp"
#include "protocol/http/server.hpp"
#include "protocol/net/places.hpp"
#include "protocol/net/stream.hpp"

namespace skiff::protocol {

/// What the connections of one server share.
struct HttpService {
  HttpServerOptions options;
  bool draining = false;
  std::size_t requests = 0;
  HeldAnswers answers{options.limits.answers_bytes};
};

/// One connection of a server: reads request after request, calls the handler, keeps or ends the connection. Its owner
/// keeps it alive until `run` has ended.
class HttpConnection {
 public:
  HttpConnection(Stream stream, HttpService& service, Places::Place& place)
      : stream_{std::move(stream)}, service_{service}, place_{place} {}
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  /// Serves until the connection ends or is handed over.
  [[nodiscard]] Task<> run();
  struct Successor {
    UpgradeHandler handler;
    Upgraded connection;
  };
  /// Who takes over after `run`, if anybody.
  [[nodiscard]] std::optional<Successor> take_successor() noexcept { return std::move(successor_); }

  /// Asked of the kernel once.
  [[nodiscard]] const Address& local_address();

  /// Ends it if it waits for a next request.
  void close_if_idle() noexcept;

 private:
  friend class HttpExchange;
  [[nodiscard]] const ConnectionLimits& limits() const noexcept { return service_.options.limits; }
  /// Serves one request; true if the connection can take another.
  [[nodiscard]] Task<bool> serve_one();
  [[nodiscard]] Task<HeadResult<std::size_t>> read_head(ReceiveBudget::Share* held);
  /// Tells the client why it is not served, and closes.
  [[nodiscard]] Task<> refuse(unsigned status, Error error);
  /// Runs the handler and makes sure that there is one whole response; true if the connection is still in order.
  [[nodiscard]] Task<bool> answer(HttpExchange& exchange);
  /// How long it may wait for a request.
  [[nodiscard]] std::chrono::milliseconds patience(bool first) const noexcept;
  /// Reads the rest of a body that the handler did not want; false if it is too much or too slow.
  [[nodiscard]] Task<bool> drain_body();
  /// Ends our side and lets the client read the answer before the connection is gone: closing at once with unread bytes
  /// would reset it, and the client could lose the answer.
  [[nodiscard]] Task<> linger();
  /// Closes so that the client can't take what it got for the whole answer.
  void abort() noexcept;
  [[nodiscard]] HttpResponse error_response(unsigned status, const Error& error) const;

  Stream stream_;
  HttpService& service_;
  Places::Place& place_;
  HttpInput input_{stream_};
  std::optional<Successor> successor_;
  std::unique_ptr<Address> local_address_;
  std::optional<SteadyTime> first_head_;  ///< since when the first request's head is waited for
  bool idle_ = false;
  bool keep_alive_ = true;
  bool continue_wanted_ = false;  ///< the client waits for "100 Continue" before it sends the body
};

}  // namespace skiff::protocol
