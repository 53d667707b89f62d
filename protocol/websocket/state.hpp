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

#include "base/clock.hpp"
#include "base/event.hpp"
#include "protocol/websocket/socket.hpp"

/// The inside of a WebSocket; socket.cpp reads, write.cpp writes. Include socket.hpp instead.
namespace skiff::protocol {

/// How long it is until then, never less than nothing.
inline std::chrono::milliseconds until(SteadyTime time) {
  using std::chrono::milliseconds;
  return std::max(milliseconds{0}, std::chrono::ceil<milliseconds>(time - std::chrono::steady_clock::now()));
}

struct WebSocket::State {
  State(Stream stream_in, std::string received, Options options_in);

  // --- writing (write.cpp) ---

  struct Waiter;

  /// The right to write, until it is destroyed. Control frames that wait for it go out then.
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

  /// Sends pongs and pings that wait, as far as the socket takes them now; only while no message is half written. What
  /// is left of a frame goes before anything else.
  void flush_control() noexcept;
  /// From the read side: now if nobody writes, else by whoever does, after the message.
  void control_soon() noexcept {
    if (!busy) flush_control();
  }

  enum class Sent : std::uint8_t { all, too_slow, broken };
  /// Writes `parts` by `deadline`. What is not written is left in `parts`.
  Task<Sent> write_by(std::vector<std::string_view>& parts, SteadyTime deadline);
  static Task<Result<>> finish(State* self, std::vector<std::string_view> parts, bool begun);
  static Task<bool> write_close(State* self, std::string bytes);
  /// One whole frame, in parts; the caller has the turn.
  Task<Result<>> write_frame(std::span<const std::string_view> parts);
  Task<Result<>> send_message(Opcode opcode, std::span<const std::string_view> parts);
  /// Sends the one close frame. `first`: before the messages that wait. The caller bounds the wait for the turn.
  Task<> send_close(std::uint16_t code, std::string reason, bool first);

  // --- the end ---

  /// Nothing more can be sent. The first reason stays.
  void finish_with(Closed how, Error error);
  std::unexpected<Error> failed(Errc code, std::string why);
  [[nodiscard]] std::unexpected<Error> over() const;
  void abort() noexcept;

  // --- reading (socket.cpp): what an idle connection holds is the frame of `read`, so nothing else is a coroutine ---

  Task<Result<Message>> read();
  /// The next message, if its bytes are here. Without one: `last_event` is set, or `final`, or the stream has no more
  /// now, or the turn is over.
  std::optional<Message> next_message();
  /// Parses and reads until there is an event; false when there is none for now, or no more, or the turn is over.
  bool next_event(MessageParser::Event& event);
  /// How long to wait for bytes; sends pings. Nothing when it is over.
  std::optional<std::chrono::milliseconds> patience();
  /// True when a wait that failed with `error` is to be followed by another.
  [[nodiscard]] bool goes_on(const Error& error) const noexcept;
  /// Says goodbye after a close frame or a violation.
  Task<> conclude(MessageParser::Event event);
  Task<> drain(SteadyTime deadline);

  const Options options;
  Stream stream;
  std::string buffered;  ///< bytes behind the message that was given out last
  std::size_t buffered_at = 0;
  MessageParser parser;
  ReceiveBudget::Share held;  ///< of a message that is not whole
  /// Whether there is room for that: else this has become a violation.
  bool hold(MessageParser::Event& event);
  std::unique_ptr<MessageParser::Event> last_event;  ///< a close frame or a violation
  static constexpr std::ptrdiff_t kTurn = 256 * 1024;
  static constexpr std::ptrdiff_t kEventCost = 4 * 1024;
  std::ptrdiff_t turn_left = kTurn;  ///< bytes to take, an event costing some more, before others get the reactor

  bool busy = false;  ///< somebody has the turn
  std::list<Waiter*> waiting;
  std::string control_out;  ///< the rest of a control frame that is half written
  std::optional<std::string> pong_due;
  bool ping_due = false;

  bool reading = false;
  bool sent_close = false;
  bool ended = false;  ///< the stream is closed, nothing follows
  std::optional<Closed> closed;
  std::optional<Error> final;
  SteadyTime end_by = SteadyTime::max();  ///< while closing: when to stop waiting for the peer
  Event changed;

  SteadyTime heard;                  ///< the last sign of life
  std::optional<SteadyTime> pinged;  ///< the first ping since then
  SteadyTime next_ping = SteadyTime::max();
};

}  // namespace skiff::protocol
