#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.hpp"
#include "protocol/grpc/message.hpp"
#include "runtime/dialects/e2b/state.hpp"

/// Calls of the Connect protocol (connectrpc.com/docs/protocol), with JSON over HTTP/1.1.
namespace skiff::runtime::dialects::e2b {

/// The flags of an envelope, which is a byte of flags, the length in four bytes, and the message. `end` marks the last
/// one.
enum class Envelope : std::uint8_t { message = 0, end = 2 };
void append_envelope(std::string& out, Envelope kind, std::string_view message);

/// The value of Connect-Timeout-Ms, at most ten digits; nothing: it is absent or 0. Errors: invalid_field.
[[nodiscard]] Result<std::optional<std::chrono::milliseconds>> asked_time(const protocol::Headers& headers);

/// The value of Keepalive-Ping-Interval, which is E2B's own: 1 to 3600 seconds; `otherwise` if it has no such value.
[[nodiscard]] std::chrono::milliseconds keepalive_interval(const protocol::Headers& headers,
                                                           std::chrono::milliseconds otherwise) noexcept;

/// Answers a message with a message, both JSON.
using UnaryHandler = Task<Result<std::string>> (*)(Call* call, std::string message);
/// Runs `handler`, and cancels it when the call's time is over: one minute if the client gives none. An error becomes
/// the status and {"code","message"}.
[[nodiscard]] Task<Result<>> serve_unary(Call* call, UnaryHandler handler);

/// A call whose messages are in envelopes. An error becomes the envelope that ends it; the status is always 200.
class StreamCall {
 public:
  StreamCall(Call& call, std::optional<std::chrono::milliseconds> time);

  Call& call;
  const std::optional<SteadyTime> until;  ///< the end of the call's time
  [[nodiscard]] std::optional<std::chrono::milliseconds> time() const noexcept { return time_; }

  /// Reads the only message of a call whose answer is a stream. Errors: invalid_request and those of a body.
  [[nodiscard]] Task<Result<std::string>> read_only_message();
  /// Reads the next of several messages; nothing: there are no more. Waits until `until`. Errors: also timeout;
  /// command_ended when `still_wanted`, which is called now and then, returns false.
  [[nodiscard]] Task<Result<std::optional<std::string>>> next_message(const std::function<bool()>* still_wanted);
  /// Sends envelopes; the first call also sends the response's head. Errors: those of the connection.
  [[nodiscard]] Task<Result<>> send(std::string_view envelopes);
  /// Sends envelopes together with the one that ends the call. That saves a send, and the client wakes once less.
  void send_with_end(std::string envelopes) { with_end_ = std::move(envelopes); }
  [[nodiscard]] Task<Result<>> end(Result<> outcome);

 private:
  std::optional<std::chrono::milliseconds> time_;
  protocol::GrpcMessages messages_;
  std::unique_ptr<protocol::ReceiveBudget::Share> share_;  ///< the share of memory for `messages_`
  std::string with_end_;
  bool begun_ = false;
  bool broken_ = false;  ///< nothing can be sent any more
};
using StreamHandler = Task<Result<>> (*)(StreamCall* call);
[[nodiscard]] Task<Result<>> serve_stream(Call* call, StreamHandler handler);

}  // namespace skiff::runtime::dialects::e2b
