#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/task.hpp"
#include "protocol/grpc/fields.hpp"
#include "protocol/grpc/message.hpp"
#include "protocol/http2/exchange.hpp"

namespace skiff::protocol {

/// One call of a gRPC method, whatever it streams: a request over HTTP/2 whose bodies are messages. Lives as long as
/// the request's handler. Errors of what reads and writes: also those of Http2Exchange.
class GrpcCall {
 public:
  /// A message of the client has at most `most` bytes, and goes on within `patience`.
  GrpcCall(Http2Exchange& http, std::size_t most, std::chrono::milliseconds patience)
      : http_{http}, messages_{most}, share_{http.share(patience)}, patience_{patience} {}

  [[nodiscard]] Http2Exchange& http() noexcept { return http_; }
  /// From now on so much is counted for it, if that is more than before: until it ends, for what a method was given it
  /// holds. Errors: resource_exhausted.
  [[nodiscard]] Result<> keep(std::size_t bytes);

  /// The client's next message; nothing: it has sent all. Between two messages the client may take its time.
  /// Errors: payload_too_large, not_supported (compressed), resource_exhausted, invalid_request (it ends within one).
  [[nodiscard]] Task<Result<std::optional<std::string>>> read();
  /// The one message of a method that takes one: it begins within `patience`. Errors: also missing_field.
  [[nodiscard]] Task<Result<std::string>> read_one();

  /// Sends a message that is made of these parts, which must live until it returns; together fewer than 4 GiB.
  [[nodiscard]] Task<Result<>> send(std::span<const std::string_view> parts);
  [[nodiscard]] Task<Result<>> send(std::string_view message);
  /// Sends parts that hold whole messages, prefixes included.
  [[nodiscard]] Task<Result<>> send_framed(std::span<const std::string_view> parts);

  /// Ends the call. In the middle of a message the stream is reset: its client must not take half of one for all of it.
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

/// Runs a method, which gives the call's status, until it has ended, `timeout` is over, or the client has given the
/// call up. In the latter two cases it is cancelled and joined; `over_time` is set before in the second.
struct GrpcOutcome {
  GrpcStatus status;
  bool is_given_up = false;  ///< nobody is left who could be told
};
[[nodiscard]] Task<GrpcOutcome> run_method(GrpcCall* call, Task<GrpcStatus> method,
                                           std::optional<std::chrono::milliseconds> timeout, bool* over_time);

}  // namespace skiff::protocol
