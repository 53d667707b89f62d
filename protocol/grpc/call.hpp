#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "protocol/grpc/fields.hpp"
#include "protocol/grpc/message.hpp"
#include "protocol/http2/exchange.hpp"

namespace skiff::protocol {

/// One call of a gRPC method, streaming or not: a request over HTTP/2 whose bodies are messages. It lives as long as
/// the request's handler. Functions that read or write also return the errors of Http2Exchange.
class GrpcCall {
 public:
  /// Limits a message of the client to `most` bytes and the pauses within it to `patience`.
  GrpcCall(Http2Exchange& http, std::size_t most, std::chrono::milliseconds patience)
      : http_{http}, messages_{most}, share_{http.share(patience)}, patience_{patience} {}

  [[nodiscard]] Http2Exchange& http() noexcept { return http_; }
  /// Counts `bytes` for the call until its end, if that is more than before: for data that the method keeps. Errors:
  /// resource_exhausted.
  [[nodiscard]] Result<> keep(std::size_t bytes);

  /// Returns the client's next message; nothing after the last one. The pause between two messages is not limited.
  /// Errors: payload_too_large, not_supported (compressed), resource_exhausted, invalid_request (the stream ends within
  /// a message).
  [[nodiscard]] Task<Result<std::optional<std::string>>> read();
  /// Returns the message of a method that takes exactly one; it must begin within `patience`. Errors: also
  /// missing_field.
  [[nodiscard]] Task<Result<std::string>> read_one();

  /// Sends one message from these parts, which must stay valid until it returns; together fewer than 4 GiB.
  [[nodiscard]] Task<Result<>> send(std::span<const std::string_view> parts);
  [[nodiscard]] Task<Result<>> send(std::string_view message);
  /// Sends parts that hold whole messages, prefixes included.
  [[nodiscard]] Task<Result<>> send_framed(std::span<const std::string_view> parts);

  /// Ends the call. In the middle of a message it resets the stream, so that the client cannot take a part for the
  /// whole.
  void finish(const GrpcStatus& status);

 private:
  [[nodiscard]] Task<Result<std::optional<std::string>>> next(std::chrono::milliseconds patience);

  Http2Exchange& http_;
  GrpcMessages messages_;
  std::unique_ptr<ReceiveBudget::Share> share_;
  std::size_t kept_ = 0;
  std::chrono::milliseconds patience_;
  bool begun_ = false;
  bool in_message_ = false;
};

/// Runs a method, which returns the call's status, until it ends, `timeout` is over, or the client cancels the call. In
/// the last two cases the method is cancelled and joined; for the timeout, `over_time` is set before that.
struct GrpcOutcome {
  GrpcStatus status;
  bool is_given_up = false;  ///< the client has gone, so no status can be sent
};
[[nodiscard]] Task<GrpcOutcome> run_method(GrpcCall* call, Task<GrpcStatus> method,
                                           std::optional<std::chrono::milliseconds> timeout, bool* over_time);

}  // namespace skiff::protocol
