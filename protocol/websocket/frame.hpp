#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

/// WebSocket framing (RFC 6455 section 5) without input or output: bytes in, events out.
namespace skiff::protocol {

enum class Side : std::uint8_t { server, client };

enum class Opcode : std::uint8_t { continuation = 0, text = 1, binary = 2, close = 8, ping = 9, pong = 10 };

/// Close codes that this side sends (RFC 6455 section 7.4.1; 4000-4999 are the application's).
namespace close_code {
inline constexpr std::uint16_t kNormal = 1000, kGoingAway = 1001, kProtocolError = 1002, kUnsupported = 1003,
                               kNoStatus = 1005, kAbnormal = 1006, kBadData = 1007, kTooBig = 1009, kInternal = 1011,
                               kTryAgainLater = 1013;
}

/// True for a code that may stand in a close frame.
[[nodiscard]] bool is_sendable_close_code(std::uint16_t code) noexcept;

using MaskKey = std::array<unsigned char, 4>;

/// XORs `data` with the key; `phase` is the position of `data[0]` within its frame's payload.
void apply_mask(std::span<char> data, MaskKey key, std::size_t phase) noexcept;

inline constexpr std::size_t kMaxFrameHeader = 14;

/// Writes a frame header with the shortest length form; returns its size (2 to 14 bytes).
std::size_t write_frame_header(std::span<char, kMaxFrameHeader> out, Opcode opcode, std::uint64_t length,
                               std::optional<MaskKey> mask = {}, bool fin = true) noexcept;

/// A close frame's payload: the code and a reason, cut to 123 bytes at a character. Code 1005 gives an empty payload.
[[nodiscard]] std::string close_payload(std::uint16_t code, std::string_view reason);

/// Reassembles messages from the frames that arrive at one side. It takes bytes in any portions, keeps at most one
/// message, and allocates for a message only as its bytes arrive. After `Kind::violation` and after `Kind::close` it
/// takes nothing more.
///
/// With `Bytes::in_pieces` where messages begin and end does not matter: the bytes of binary ones come out as they come
/// in, at most 64 KiB at a time, so a frame of any length is taken and none is kept. What is empty does not come out.
class MessageParser {
 public:
  enum class Bytes : std::uint8_t { whole, in_pieces };

  /// `receiver` is the side that reads: a server's peer must mask, a client's must not. A message above
  /// `max_message_bytes` is a violation with 1009, unless its bytes come out in pieces.
  MessageParser(Side receiver, std::size_t max_message_bytes, Bytes binary = Bytes::whole) noexcept
      : receiver_{receiver}, max_message_bytes_{max_message_bytes}, in_pieces_{binary == Bytes::in_pieces} {}

  enum class Kind : std::uint8_t {
    need_more,  ///< all bytes were taken and nothing is complete
    text,       ///< a message of valid UTF-8 in `payload`
    binary,
    ping,  ///< answer with a pong of the same payload
    pong,
    close,      ///< `code` (1005: none given) and the reason in `payload`
    violation,  ///< fail the connection with `code`; `payload` says why
  };
  struct Event {
    Kind kind = Kind::need_more;
    std::uint16_t code = 0;
    std::string payload;
  };

  /// Takes bytes up to the end of the first event; returns how many. Call it again with the rest.
  std::size_t feed(std::string_view bytes, Event& event);

  /// Where the next bytes of a large message may be read to directly: empty unless at least 4 KiB of the current frame
  /// are missing. Follow with `commit`.
  [[nodiscard]] std::span<char> direct();
  void commit(std::size_t size, Event& event);

  /// Of a message that is not whole.
  [[nodiscard]] std::size_t held() const noexcept { return message_.capacity(); }
  /// Takes nothing more, and lets go of what it holds.
  void give_up() noexcept {
    dead_ = true;
    std::string{}.swap(message_);
  }

  /// True between messages: nothing is kept.
  [[nodiscard]] bool idle() const noexcept { return !in_message_ && !in_payload_ && header_have_ == 0; }

 private:
  bool violation(Event& event, std::uint16_t code, std::string_view why);
  bool begin_frame(Event& event);
  bool check_text(Event& event);
  void end_frame(Event& event);
  void end_control(Event& event);
  void give_piece(Event& event);
  /// Of the message that has begun.
  [[nodiscard]] bool gives_pieces() const noexcept { return in_pieces_ && !message_is_text_; }

  const Side receiver_;
  const std::size_t max_message_bytes_;
  const bool in_pieces_;
  std::array<unsigned char, kMaxFrameHeader> header_{};
  std::uint8_t header_have_ = 0;
  bool fin_ = false;
  bool in_payload_ = false;
  bool in_message_ = false;  ///< between the first frame of a message and its end
  bool message_is_text_ = false;
  bool dead_ = false;
  Opcode opcode_ = Opcode::continuation;
  MaskKey mask_{};
  std::uint64_t frame_length_ = 0;
  std::uint64_t frame_have_ = 0;
  std::string message_;
  std::size_t message_size_ = 0;  ///< bytes of message_ that are filled; message_ may be longer
  std::size_t checked_ = 0;       ///< bytes of a text that are known to be UTF-8
  std::string control_;
};

}  // namespace skiff::protocol
