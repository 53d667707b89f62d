#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "protocol/http2/stream.hpp"
#include "protocol/net/connection_slots.hpp"
#include "protocol/net/receive_budget.hpp"

namespace skiff::protocol {

class Http2Connection;

/// One request over HTTP/2 and its response, for as long as its handler runs. One task at a time may read, and one may
/// write; `closed` may run beside both. All calls return `cancelled` once the client has reset the stream or the
/// connection is gone: the handler should then clean up and return. If a handler returns before it has ended the
/// response, the stream is reset.
class Http2Exchange {
 public:
  Http2Exchange(Http2Connection& connection, std::shared_ptr<Http2Stream> stream)
      : connection_{connection}, stream_{std::move(stream)} {}
  ~Http2Exchange();
  Http2Exchange(const Http2Exchange&) = delete;
  Http2Exchange& operator=(const Http2Exchange&) = delete;

  [[nodiscard]] const Http2Request& request() const noexcept { return stream_->request; }
  /// The peer, for logs: "127.0.0.1:51234".
  [[nodiscard]] std::string_view peer() const noexcept;
  [[nodiscard]] Executor executor() const noexcept;

  /// As HttpExchange::mark_authenticated.
  [[nodiscard]] Result<> mark_authenticated(Holder holder = {});

  /// Frees the head of the request: `request` is empty from now on.
  void forget_head();
  /// Returns a share for the parts of the request that the handler keeps; if it is lost, `read` fails with
  /// resource_exhausted.
  [[nodiscard]] std::unique_ptr<ReceiveBudget::Share> share(std::chrono::milliseconds patience);

  /// Returns all bytes of the request that have come and were not read, at least one; empty at its end. Only then may
  /// the client send as many more. Errors: cancelled; request_timeout when no byte comes for `limit`;
  /// resource_exhausted, see `share`.
  [[nodiscard]] Task<Result<std::string>> read(std::chrono::milliseconds limit);

  /// Begins a response whose body follows. Call it at most once.
  [[nodiscard]] Result<> start(const Headers& head, unsigned status = 200);
  /// Sends the parts, and returns when the session has copied them. It waits for as long as the client's flow-control
  /// windows are closed. The parts must stay valid until it returns.
  [[nodiscard]] Task<Result<>> write(std::span<const std::string_view> parts);
  /// Ends the response after the written bytes, unless the stream has ended.
  void finish(Headers trailers);
  /// Sends a whole response without a body, unless the stream has ended.
  void respond(const Headers& head, unsigned status = 200);
  /// Ends the stream at once (RST_STREAM).
  void reset(Http2Code code);

  /// Returns true when the stream has ended. Before the end of the response this means that the client does not want it
  /// any more.
  [[nodiscard]] bool is_closed() const noexcept { return stream_->closed.has_value(); }
  /// Waits until the stream has ended.
  [[nodiscard]] Task<> closed();

  [[nodiscard]] std::uint64_t bytes_sent() const noexcept { return bytes_sent_; }

 private:
  Http2Connection& connection_;
  std::shared_ptr<Http2Stream> stream_;
  std::uint64_t bytes_sent_ = 0;
  bool finished_ = false;
};

}  // namespace skiff::protocol
