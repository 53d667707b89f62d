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

/// Appends an envelope: a byte of flags, the length in four bytes, the message. `end` is the flag of the last one.
enum class Envelope : std::uint8_t { message = 0, end = 2 };
void append_envelope(std::string& out, Envelope kind, std::string_view message);

/// Connect-Timeout-Ms, at most ten digits; nothing: it is absent or 0. Errors: invalid_field.
[[nodiscard]] Result<std::optional<std::chrono::milliseconds>> asked_time(const protocol::Headers& headers);

/// Keepalive-Ping-Interval, E2B's own: so many seconds, 1 to 3600, or `otherwise` where it says nothing of the kind.
[[nodiscard]] std::chrono::milliseconds keepalive_interval(const protocol::Headers& headers,
                                                           std::chrono::milliseconds otherwise) noexcept;

/// Answers a message with a message, both JSON.
using UnaryHandler = Task<Result<std::string>> (*)(Call* call, std::string message);
/// Runs it, and cancels it when the call's time is over, one minute without any. What it fails with becomes the status
/// and {"code","message"}.
[[nodiscard]] Task<Result<>> serve_unary(Call* call, UnaryHandler handler);

/// A call whose messages are in envelopes. What it fails with becomes the envelope that ends it, with the status 200 in
/// any case.
class StreamCall {
 public:
  StreamCall(Call& call, std::optional<std::chrono::milliseconds> time);

  Call& call;
  const std::optional<SteadyTime> until;  ///< when its time is over
  [[nodiscard]] std::optional<std::chrono::milliseconds> time() const noexcept { return time_; }

  /// The one message of a call whose answer is a stream. Errors: invalid_request and those of a body.
  [[nodiscard]] Task<Result<std::string>> read_only_message();
  /// The next of several, nothing at their end; waits for it until `until`. Errors: also timeout; command_ended once
  /// `still_wanted` says so, which is asked now and then.
  [[nodiscard]] Task<Result<std::optional<std::string>>> next_message(const std::function<bool()>* still_wanted);
  /// Sends envelopes; the first brings the response's head along. Errors: those of the connection.
  [[nodiscard]] Task<Result<>> send(std::string_view envelopes);
  /// Envelopes that go out with the one that ends the call: a send less, and the client wakes once less.
  void send_with_end(std::string envelopes) { with_end_ = std::move(envelopes); }
  [[nodiscard]] Task<Result<>> end(Result<> outcome);

 private:
  std::optional<std::chrono::milliseconds> time_;
  protocol::GrpcMessages messages_;
  std::unique_ptr<protocol::ReceiveBudget::Share> share_;  ///< for those
  std::string with_end_;
  bool begun_ = false;
  bool broken_ = false;  ///< nothing can be sent any more
};
using StreamHandler = Task<Result<>> (*)(StreamCall* call);
[[nodiscard]] Task<Result<>> serve_stream(Call* call, StreamHandler handler);

}  // namespace skiff::runtime::dialects::e2b
