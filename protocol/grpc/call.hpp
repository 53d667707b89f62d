#pragma once

#include <chrono>
#include <cstddef>
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

/// What the messages of all calls of a server may take together, in bytes. Reactor thread only.
class GrpcMemory {
 public:
  explicit GrpcMemory(std::size_t most) noexcept : most_{most} {}

  /// One holder's part of it, given back with the object.
  class Share {
   public:
    explicit Share(GrpcMemory& memory) noexcept : memory_{memory} {}
    ~Share() { memory_.used_ -= bytes_; }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    /// Makes it at least `bytes`. Errors: resource_exhausted.
    [[nodiscard]] Result<> reach(std::size_t bytes);

   private:
    GrpcMemory& memory_;
    std::size_t bytes_ = 0;
  };

  [[nodiscard]] std::size_t used() const noexcept { return used_; }

 private:
  std::size_t most_;
  std::size_t used_ = 0;
};

/// One call of a gRPC method, whatever it streams: a request over HTTP/2 whose bodies are messages. Lives as long as
/// the request's handler. Errors of what reads and writes: also those of Http2Exchange.
class GrpcCall {
 public:
  /// A message of the client has at most `most` bytes, and goes on within `patience`.
  GrpcCall(Http2Exchange& http, GrpcMemory& memory, std::size_t most, std::chrono::milliseconds patience)
      : http_{http}, messages_{most}, share_{memory}, patience_{patience} {}

  [[nodiscard]] Http2Exchange& http() noexcept { return http_; }
  [[nodiscard]] const Http2Request& request() const noexcept { return http_.request(); }

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
  GrpcMemory::Share share_;
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
