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
#include "base/error.hpp"
#include "protocol/net/receive_budget.hpp"
#include "protocol/net/stream.hpp"
#include "protocol/websocket/frame.hpp"

namespace skiff::protocol {

/// One WebSocket (RFC 6455) after its handshake, on either side. One coroutine reads, any number send. Each message
/// takes one system call when the socket has room, and senders take turns in order. Pings, pongs and the close
/// handshake happen inside `read()`, so keep one coroutine in it. An idle WebSocket keeps no buffer. Reactor thread
/// only; it must outlive every call on it: `abort()`, then join the coroutines, then destroy it.
class WebSocket {
 public:
  struct Options {
    Side side = Side::server;
    std::size_t max_message_bytes = 1024 * 1024;       ///< limit of a received message; a larger one closes with 1009
    std::chrono::milliseconds write_deadline{30'000};  ///< limit for sending one message, without the wait for its turn
    std::uint16_t write_deadline_code = 4008;          ///< close code when it passes
    std::chrono::milliseconds ping_interval{
        15'000};  ///< idle time before a ping; two of them without a sign of life: dead. 0: never
    std::chrono::milliseconds close_timeout{5'000};  ///< limit for each step of closing
    /// A binary message may have any length, and is read in pieces of at most 64 KiB as they arrive; the limit then
    /// applies to texts only.
    bool reads_pieces = false;
    /// A peer that answers no ping does not count as dead: it may read as slowly as it likes. TCP detects a vanished
    /// peer (Stream::probe_peer).
    bool may_be_silent = false;
    /// The budget for incomplete messages; one that finds no room closes with 1013. Null: no limit.
    ReceiveBudget* budget = nullptr;
    std::string who = {};
    std::chrono::milliseconds patience{30'000};  ///< how long a message may be incomplete when others need its room
  };
  enum class Kind : std::uint8_t { text, binary };
  struct Message {
    Kind kind = Kind::text;
    std::string payload;  ///< text is valid UTF-8
  };
  /// How the connection ended, as far as this side knows.
  struct Closed {
    std::uint16_t code = close_code::kAbnormal;  ///< 1005: a close without a code; 1006: no close frame came
    std::string reason;
    bool by_peer = false;
  };

  /// `received` are bytes that came after the handshake.
  WebSocket(Stream stream, std::string received, Options options);
  ~WebSocket();
  WebSocket(const WebSocket&) = delete;
  WebSocket& operator=(const WebSocket&) = delete;

  /// Reads the next message. When the connection has ended, it and all later calls fail: `cancelled` (properly closed
  /// by either side), `invalid_request` or `payload_too_large` (the peer broke the protocol and was told), `timeout` (a
  /// dead peer or the write deadline), `resource_exhausted` (no budget), `io_error`. Cancelling a call loses no bytes.
  [[nodiscard]] Task<Result<Message>> read();

  /// Sends one message that consists of `parts` (for example header and payload), which must stay valid until it
  /// returns; a text must be valid UTF-8. Returns when the kernel has all bytes. Cancelled before its turn, it sends
  /// nothing; after its first byte, it finishes the message first, because half a frame would break the connection for
  /// all senders.
  [[nodiscard]] Task<Result<>> send(Kind kind, std::span<const std::string_view> parts);
  [[nodiscard]] Task<Result<>> send(Kind kind, std::string payload);

  /// Sends a ping now (at most 125 bytes).
  [[nodiscard]] Task<Result<>> ping(std::string payload);

  /// Does the close handshake: waits for earlier messages, sends the close frame, waits for the peer's (messages that
  /// arrive meanwhile are dropped, or go to the coroutine in `read()`), ends the stream. Each step takes at most
  /// `close_timeout`, except the wait for earlier messages. Does nothing when it is closed already.
  Task<> close(std::uint16_t code, std::string reason);

  /// Drops the connection now; all calls on it end. May be repeated.
  void abort() noexcept;

  /// Set once no more messages can be sent.
  [[nodiscard]] const std::optional<Closed>& closed() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace skiff::protocol
