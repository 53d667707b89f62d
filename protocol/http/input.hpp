#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/async/task.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"
#include "protocol/http/chunked.hpp"
#include "protocol/http/message.hpp"
#include "protocol/http/parser.hpp"
#include "protocol/net/receive_budget.hpp"
#include "protocol/net/stream.hpp"

namespace skiff::protocol {

/// Bytes that were received and not yet used. Needs no memory while it is empty.
class ReceiveBuffer {
 public:
  [[nodiscard]] std::string_view data() const noexcept { return {memory_.get() + begin_, end_ - begin_}; }
  [[nodiscard]] bool empty() const noexcept { return begin_ == end_; }
  /// Returns room for at least one more byte, with at most `most` bytes in all; empty when that is reached.
  [[nodiscard]] std::span<char> room(std::size_t most);
  void received(std::size_t count) noexcept { end_ += count; }
  /// Drops the first `count` bytes.
  void use(std::size_t count) noexcept;
  void release() noexcept;

 private:
  std::unique_ptr<char[]> memory_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

/// The receiving half of an HTTP connection, of a server or a client: finds heads and bodies in the stream. The owner
/// keeps it alive during a call.
class HttpInput {
 public:
  explicit HttpInput(Stream& stream) : stream_{stream} {}

  [[nodiscard]] ReceiveBuffer& buffer() noexcept { return buffer_; }
  /// Whether the peer has ended its direction.
  [[nodiscard]] bool ended() const noexcept { return ended_; }

  /// Waits until the buffer has got more; returns false at the end of the stream, or when it already holds `most`
  /// bytes. Two of these calls may run at the same time.
  [[nodiscard]] Task<Result<bool>> fill(std::size_t most, std::chrono::milliseconds limit) {
    return fill(Of::stream, most, limit);
  }

  /// Sets the framing of the body that follows.
  void begin_body(BodyFraming framing, bool takes_spaces = false);
  /// Sets the end of the request's permission: later bytes of the body are refused with `unauthenticated`.
  void end_body_at(WallTime end) noexcept { body_end_ = end; }
  [[nodiscard]] bool body_done() const noexcept { return body_done_; }
  /// The remaining bytes of a body with a length; 0 for others.
  [[nodiscard]] std::uint64_t body_left() const noexcept {
    return framing_.kind == BodyFraming::Kind::length ? left_ : 0;
  }
  [[nodiscard]] BodyFraming::Kind body_kind() const noexcept { return framing_.kind; }
  /// Whether `read_body` returns at once: with buffered bytes, the end, or an error.
  [[nodiscard]] bool has_body();
  /// Waits until `read_body` may return, with the same errors.
  [[nodiscard]] Task<Result<>> body_readable(std::chrono::milliseconds idle_limit);
  /// Reads the next bytes of the body, 0 at its end. Errors: `invalid_request` for a broken or truncated body.
  [[nodiscard]] Task<Result<std::size_t>> read_body(std::span<char> into, std::chrono::milliseconds idle_limit);
  /// Reads the rest of the body. Errors: `payload_too_large` above `limit`; `resource_exhausted` when `budget`, if any,
  /// has no room, or takes the share of `who` for others.
  [[nodiscard]] Task<Result<std::string>> read_whole_body(std::size_t limit, std::chrono::milliseconds idle_limit,
                                                          ReceiveBudget* budget = nullptr,
                                                          const std::string* who = nullptr);
  /// Ends a wait for the body that has a limit, as if the limit were reached.
  void give_up_body() {
    given_up_ = true;
    stream_.give_up_reading();
  }
  [[nodiscard]] Headers& trailers() noexcept { return chunks_->trailers(); }

 private:
  [[nodiscard]] Task<Result<std::size_t>> read_payload(std::span<char> into, std::uint64_t most,
                                                       std::chrono::milliseconds idle_limit);

  enum class Of : unsigned char { stream, body };
  [[nodiscard]] Task<Result<bool>> fill(Of what, std::size_t most, std::chrono::milliseconds limit);
  [[nodiscard]] Task<Result<>> readable_until_end(std::chrono::milliseconds idle_limit);
  [[nodiscard]] bool body_is_over() const noexcept { return body_end_ && wall_now() >= *body_end_; }

  void note(std::size_t got) noexcept;
  /// Consumes the buffered framing before the next payload of a chunked body.
  void take_framing();

  Stream& stream_;
  ReceiveBuffer buffer_;
  std::unique_ptr<ChunkedDecoder> chunks_;
  std::unique_ptr<Error> broken_;  ///< error in the chunks
  BodyFraming framing_;
  std::uint64_t left_ = 0;
  std::uint64_t received_ = 0;
  std::optional<WallTime> body_end_;
  bool given_up_ = false;  ///< the wait for the body was given up
  bool body_done_ = true;
  bool ended_ = false;
};

}  // namespace skiff::protocol
