#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/task.hpp"
#include "protocol/net/receive_budget.hpp"
#include "protocol/net/stream.hpp"
#include "protocol/websocket/frame.hpp"

namespace skiff::protocol {

/// One WebSocket (RFC 6455) after its handshake, either side. One coroutine reads, any number send; each message goes
/// out with one system call when the socket has room, and senders take turns in the order they came. Pings, pongs and
/// the close handshake happen inside `read()`, so keep one coroutine in it. An idle one keeps no buffer. Reactor thread
/// only; it must outlive every call on it: `abort()`, then join the coroutines, then destroy it.
class WebSocket {
 public:
  struct Options {
    Side side = Side::server;
    std::size_t max_message_bytes = 1024 * 1024;       ///< of a received message; more closes with 1009
    std::chrono::milliseconds write_deadline{30'000};  ///< for one message to leave, waiting for its turn not included
    std::uint16_t write_deadline_code = 4008;          ///< the close code when it passes
    std::chrono::milliseconds ping_interval{
        15'000};  ///< idle time before a ping; two of them without a sign of life: dead. 0: never
    std::chrono::milliseconds close_timeout{5'000};  ///< for each step of closing
    /// A binary message may be of any length, and is read in pieces of at most 64 KiB as they come; the limit is for
    /// texts then.
    bool reads_pieces = false;
    /// A peer that answers no ping is not taken for dead: it may read as slowly as it likes. TCP finds out who has
    /// vanished (Stream::probe_peer).
    bool may_be_silent = false;
    /// For messages that are not whole; one that finds no room closes with 1013. Null: without a limit.
    ReceiveBudget* budget = nullptr;
    std::string who = {};
    std::chrono::milliseconds patience{30'000};  ///< for one to become whole, when others need its room
  };
  enum class Kind : std::uint8_t { text, binary };
  struct Message {
    Kind kind = Kind::text;
    std::string payload;  ///< text is valid UTF-8
  };
  /// How it ended, as far as this side knows.
  struct Closed {
    std::uint16_t code = close_code::kAbnormal;  ///< 1005: a close without a code; 1006: no close frame came
    std::string reason;
    bool by_peer = false;
  };

  /// `received` are bytes that came behind the handshake.
  WebSocket(Stream stream, std::string received, Options options);
  ~WebSocket();
  WebSocket(const WebSocket&) = delete;
  WebSocket& operator=(const WebSocket&) = delete;

  /// The next message. Ends with an error, for good, when the connection is over: `cancelled` (closed by either side in
  /// good order), `invalid_request` or `payload_too_large` (the peer broke the protocol and was told), `timeout` (a
  /// dead peer or the write deadline), `io_error`. May be cancelled and called again; nothing is lost.
  [[nodiscard]] Task<Result<Message>> read();

  /// Sends one message put together from `parts` (header and payload, say), which must stay until the call ends; a text
  /// must be valid UTF-8. Ends when the kernel has it. Cancelling it while it waits for its turn sends nothing; once
  /// its first byte is out the message is finished first, since half a frame would end the connection for everybody.
  [[nodiscard]] Task<Result<>> send(Kind kind, std::span<const std::string_view> parts);
  [[nodiscard]] Task<Result<>> send(Kind kind, std::string payload);

  /// Sends a ping now (at most 125 bytes).
  [[nodiscard]] Task<Result<>> ping(std::string payload);

  /// The close handshake: waits for the messages before it, sends the close frame, waits for the peer's (what arrives
  /// meanwhile is dropped, or goes to the coroutine in `read()`), ends the stream. Bounded by `close_timeout` a step.
  /// Does nothing when it is closed already.
  Task<> close(std::uint16_t code, std::string reason);

  /// Drops the connection now; every call on it ends. Safe to repeat.
  void abort() noexcept;

  /// Set once nothing more can be sent.
  [[nodiscard]] const std::optional<Closed>& closed() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace skiff::protocol
