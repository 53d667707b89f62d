#pragma once

#include <algorithm>
#include <chrono>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/async/event.hpp"
#include "base/clock.hpp"
#include "protocol/websocket/socket.hpp"

/// The internals of a WebSocket; socket.cpp reads, write.cpp writes. Include socket.hpp instead.
namespace skiff::protocol {

/// Returns the time until `time`, at least 0.
inline std::chrono::milliseconds until(SteadyTime time) {
  using std::chrono::milliseconds;
  return std::max(milliseconds{0}, std::chrono::ceil<milliseconds>(time - std::chrono::steady_clock::now()));
}

struct WebSocket::State {
  State(Stream stream_in, std::string received, Options options_in);

  // --- writing (write.cpp) ---

  struct Waiter;

  /// The right to write, until it is destroyed. Then waiting control frames are sent.
  class Turn {
   public:
    explicit Turn(State& state) : state_{&state} {}
    Turn(Turn&& other) noexcept : state_{std::exchange(other.state_, nullptr)} {}
    Turn& operator=(Turn&&) = delete;
    ~Turn() {
      if (state_ != nullptr) state_->pass_turn();
    }

   private:
    State* state_;
  };
  Task<Turn> turn(bool first);
  void pass_turn() noexcept;

  /// Sends waiting pongs and pings, as far as the socket takes them now, and only between messages. The rest of a begun
  /// frame comes first.
  void flush_control() noexcept;
  /// Called by the reader: sends control frames now if no message is being written; otherwise the writer sends them
  /// after its message.
  void control_soon() noexcept {
    if (!busy) flush_control();
  }

  enum class Sent : std::uint8_t { all, too_slow, broken };
  /// Writes `parts` by `deadline`. Unwritten bytes stay in `parts`.
  Task<Sent> write_by(std::vector<std::string_view>& parts, SteadyTime deadline);
  static Task<Result<>> finish(State* self, std::vector<std::string_view> parts, bool begun);
  static Task<bool> write_close(State* self, std::string bytes);
  /// Writes one whole frame, in parts; the caller has the turn.
  Task<Result<>> write_frame(std::span<const std::string_view> parts);
  Task<Result<>> send_message(Opcode opcode, std::span<const std::string_view> parts);
  /// Sends the only close frame. `first`: before the waiting messages. The caller limits the wait for the turn.
  Task<> send_close(std::uint16_t code, std::string reason, bool first);

  // --- the end ---

  /// Marks the end: no more messages can be sent. The first reason is kept.
  void finish_with(Closed how, Error error);
  std::unexpected<Error> failed(Errc code, std::string why);
  [[nodiscard]] std::unexpected<Error> over() const;
  void abort() noexcept;

  // --- reading (socket.cpp): what an idle connection holds is the frame of `read`, so nothing else is a coroutine ---

  Task<Result<Message>> read();
  /// Returns the next message, if its bytes are here. Otherwise `last_event` or `final` is set, or the stream has no
  /// more bytes now, or the turn has ended.
  std::optional<Message> next_message();
  /// Parses and reads until there is an event; returns false when there is none now, at the end, or when the turn has
  /// ended.
  bool next_event(MessageParser::Event& event);
  /// Returns how long to wait for bytes; sends pings. Returns nothing at the end.
  std::optional<std::chrono::milliseconds> patience();
  /// Returns true when a wait that failed with `error` must be repeated.
  [[nodiscard]] bool goes_on(const Error& error) const noexcept;
  /// Ends the connection after a close frame or a violation.
  Task<> conclude(MessageParser::Event event);
  Task<> drain(SteadyTime deadline);

  const Options options;
  Stream stream;
  std::string buffered;  ///< bytes after the message that was returned last
  std::size_t buffered_at = 0;
  MessageParser parser;
  ReceiveBudget::Share held;  ///< share for an incomplete message
  /// Updates the share; without room, turns the event into a violation and returns false.
  bool hold(MessageParser::Event& event);
  std::unique_ptr<MessageParser::Event> last_event;  ///< a close frame or a violation
  static constexpr std::ptrdiff_t kTurn = 256 * 1024;
  static constexpr std::ptrdiff_t kEventCost = 4 * 1024;
  std::ptrdiff_t turn_left = kTurn;  ///< bytes to take before other tasks get the reactor; an event costs some more

  bool busy = false;  ///< a coroutine has the turn
  std::list<Waiter*> waiting;
  std::string control_out;  ///< the rest of a control frame that is partly written
  std::optional<std::string> pong_due;
  bool ping_due = false;

  bool reading = false;
  bool sent_close = false;
  bool ended = false;  ///< the stream is closed
  std::optional<Closed> closed;
  std::optional<Error> final;
  SteadyTime end_by = SteadyTime::max();  ///< while closing: end of the wait for the peer
  Event changed;

  SteadyTime heard;                  ///< time of the last bytes from the peer
  std::optional<SteadyTime> pinged;  ///< time of the first ping since then
  SteadyTime next_ping = SteadyTime::max();
};

}  // namespace skiff::protocol
