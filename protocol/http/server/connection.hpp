#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/async/task.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"
#include "protocol/http/input.hpp"
#include "protocol/http/message.hpp"
#include "protocol/http/server/exchange.hpp"
#include "protocol/http/server/held_answers.hpp"
#include "protocol/http/server/server.hpp"
#include "protocol/net/connection_slots.hpp"
#include "protocol/net/stream.hpp"

namespace skiff::protocol {

/// The state that the connections of one server share.
struct HttpService {
  HttpServerOptions options;
  bool draining = false;
  std::size_t requests = 0;
  HeldAnswers answers{options.limits.answers_bytes};
};

/// One connection of a server. It reads request after request, calls the handler, and keeps or closes the connection.
/// Its owner keeps it alive until `run` has ended.
class HttpConnection {
 public:
  HttpConnection(Stream stream, HttpService& service, ConnectionSlots::Slot& slot)
      : stream_{std::move(stream)}, service_{service}, slot_{slot} {}
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  /// Takes bytes that were read from the stream before.
  void begin_with(std::string_view bytes);
  /// Serves until the connection ends or is handed over.
  [[nodiscard]] Task<> run();
  struct Successor {
    UpgradeHandler handler;
    Upgraded connection;
  };
  /// The handler that takes the connection over after `run`, if any.
  [[nodiscard]] std::optional<Successor> take_successor() noexcept { return std::move(successor_); }

  /// Read from the kernel once.
  [[nodiscard]] const Address& local_address();

  /// Closes the connection if it waits for a next request.
  void close_if_idle() noexcept;

 private:
  friend class HttpExchange;
  [[nodiscard]] const ConnectionLimits& limits() const noexcept { return service_.options.limits; }
  /// Serves one request; returns true if the connection can take another one.
  [[nodiscard]] Task<bool> serve_one();
  [[nodiscard]] Task<HeadResult<std::size_t>> read_head(ReceiveBudget::Share* held);
  /// Sends the client the reason for the refusal, and closes.
  [[nodiscard]] Task<> refuse(unsigned status, Error error);
  /// Runs the handler and ensures exactly one whole response; returns true if the connection is still usable.
  [[nodiscard]] Task<bool> answer(HttpExchange& exchange);
  /// How long the connection may wait for a request.
  [[nodiscard]] std::chrono::milliseconds patience(bool first) const noexcept;
  /// Reads the rest of a body that the handler did not read; returns false if it is too large or too slow.
  [[nodiscard]] Task<bool> drain_body();
  /// Ends the server's direction and lets the client read the response first: closing with unread bytes would reset the
  /// connection, and the client could lose the response.
  [[nodiscard]] Task<> linger();
  /// Closes so that the client cannot take a partial response for a whole one.
  void abort() noexcept;
  [[nodiscard]] HttpResponse error_response(unsigned status, const Error& error) const;

  Stream stream_;
  HttpService& service_;
  ConnectionSlots::Slot& slot_;
  HttpInput input_{stream_};
  std::optional<Successor> successor_;
  std::unique_ptr<Address> local_address_;
  std::optional<SteadyTime> first_head_;  ///< start of the wait for the first request's head
  bool idle_ = false;
  bool keep_alive_ = true;
  bool continue_wanted_ = false;  ///< the client waits for "100 Continue" before it sends the body
};

}  // namespace skiff::protocol
