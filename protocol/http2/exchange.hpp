#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/task.hpp"
#include "protocol/http2/stream.hpp"
#include "protocol/net/places.hpp"
#include "protocol/net/receive_budget.hpp"

namespace skiff::protocol {

class Http2Connection;

/// One request over HTTP/2 and its response, for as long as its handler runs. One task at a time may read and one may
/// write; `closed` may run beside both. `cancelled` is what every call gives once the client has reset the stream or
/// the connection is gone: the handler should clean up and return then. A handler that returns before it has ended the
/// response makes the stream be reset.
class Http2Exchange {
 public:
  Http2Exchange(Http2Connection& connection, std::shared_ptr<Http2Stream> stream)
      : connection_{connection}, stream_{std::move(stream)} {}
  ~Http2Exchange();
  Http2Exchange(const Http2Exchange&) = delete;
  Http2Exchange& operator=(const Http2Exchange&) = delete;

  [[nodiscard]] const Http2Request& request() const noexcept { return stream_->request; }
  /// The other side, for logs: "127.0.0.1:51234".
  [[nodiscard]] std::string_view peer() const noexcept;
  [[nodiscard]] Executor executor() const noexcept;

  /// As HttpExchange::vouch.
  [[nodiscard]] Result<> vouch(Holder holder = {});

  /// Its head is not needed any more: `request` is empty from now on.
  void forget_head();
  /// For what the handler keeps of the request; when that is lost `read` fails with resource_exhausted.
  [[nodiscard]] std::unique_ptr<ReceiveBudget::Share> share(std::chrono::milliseconds patience);

  /// The next bytes of the request, all that are there; empty at its end. Only then may the client send as many more.
  /// Errors: cancelled; request_timeout when nothing comes for `limit`; resource_exhausted, see `share`.
  [[nodiscard]] Task<Result<std::string>> read(std::chrono::milliseconds limit);

  /// Begins a response whose body follows. Once, or not at all.
  [[nodiscard]] Result<> start(const Headers& head, unsigned status = 200);
  /// Sends the parts as they are, and ends when they have been taken: it waits as long as the client's windows are shut
  /// and the client is there. They are copied when they are taken: they must live until it returns.
  [[nodiscard]] Task<Result<>> write(std::span<const std::string_view> parts);
  /// Ends the response behind what was written, unless the stream is over.
  void finish(Headers trailers);
  /// A whole response without a body, unless the stream is over.
  void respond(const Headers& head, unsigned status = 200);
  /// Ends the stream at once (RST_STREAM).
  void reset(Http2Code code);

  /// True when the stream is over, which it is before the response has ended only if the client does not want it any
  /// more.
  [[nodiscard]] bool is_closed() const noexcept { return stream_->closed.has_value(); }
  /// Ends then.
  [[nodiscard]] Task<> closed();

  [[nodiscard]] std::uint64_t bytes_sent() const noexcept { return bytes_sent_; }

 private:
  Http2Connection& connection_;
  std::shared_ptr<Http2Stream> stream_;
  std::uint64_t bytes_sent_ = 0;
  bool finished_ = false;
};

}  // namespace skiff::protocol
