#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

/// WebSocket framing (RFC 6455 section 5) without I/O: bytes in, events out.
namespace skiff::protocol {

enum class Side : std::uint8_t { server, client };

enum class Opcode : std::uint8_t { continuation = 0, text = 1, binary = 2, close = 8, ping = 9, pong = 10 };

/// Close codes that this side sends (RFC 6455 section 7.4.1; 4000-4999 belong to the application).
namespace close_code {
inline constexpr std::uint16_t kNormal = 1000, kGoingAway = 1001, kProtocolError = 1002, kUnsupported = 1003,
                               kNoStatus = 1005, kAbnormal = 1006, kBadData = 1007, kTooBig = 1009, kInternal = 1011,
                               kTryAgainLater = 1013;
}

/// Returns true for a code that a close frame may carry.
[[nodiscard]] bool is_sendable_close_code(std::uint16_t code) noexcept;

using MaskKey = std::array<unsigned char, 4>;

/// XORs `data` with the key; `phase` is the position of `data[0]` within its frame's payload.
void apply_mask(std::span<char> data, MaskKey key, std::size_t phase) noexcept;

inline constexpr std::size_t kMaxFrameHeader = 14;

/// Writes a frame header with the shortest length form; returns its size (2 to 14 bytes).
std::size_t write_frame_header(std::span<char, kMaxFrameHeader> out, Opcode opcode, std::uint64_t length,
                               std::optional<MaskKey> mask = {}, bool fin = true) noexcept;

/// Returns a close frame's payload: the code and a reason, cut to 123 bytes at a character. Code 1005 gives an empty
/// payload.
[[nodiscard]] std::string close_payload(std::uint16_t code, std::string_view reason);

/// Reassembles messages from the frames that arrive at one side. It takes bytes in arbitrary pieces, keeps at most one
/// message, and allocates for a message only as its bytes arrive. After `Kind::violation` and `Kind::close` it takes no
/// more bytes.
///
/// With `Bytes::in_pieces` the bounds of messages do not matter: the bytes of binary messages are returned as they
/// arrive, at most 64 KiB at a time, so a frame of any length is accepted and none is kept. Empty messages are not
/// returned.
class MessageParser {
 public:
  enum class Bytes : std::uint8_t { whole, in_pieces };

  /// `receiver` is the side that reads: a server's peer must mask, a client's must not. A message above
  /// `max_message_bytes` is a violation with 1009, unless its bytes are returned in pieces.
  MessageParser(Side receiver, std::size_t max_message_bytes, Bytes binary = Bytes::whole) noexcept
      : receiver_{receiver}, max_message_bytes_{max_message_bytes}, in_pieces_{binary == Bytes::in_pieces} {}

  enum class Kind : std::uint8_t {
    need_more,  ///< all bytes were taken, and no event is complete
    text,       ///< a message of valid UTF-8 in `payload`
    binary,
    ping,  ///< respond with a pong of the same payload
    pong,
    close,      ///< `code` (1005: none given) and the reason in `payload`
    violation,  ///< fail the connection with `code`; `payload` is the reason
  };
  struct Event {
    Kind kind = Kind::need_more;
    std::uint16_t code = 0;
    std::string payload;
  };

  /// Takes bytes up to the end of the first event; returns their number. Call it again with the rest.
  std::size_t feed(std::string_view bytes, Event& event);

  /// Returns memory for the next bytes of a large message, to read into directly: empty unless at least 4 KiB of the
  /// current frame are missing. Call `commit` afterwards.
  [[nodiscard]] std::span<char> direct();
  void commit(std::size_t size, Event& event);

  /// The memory of an incomplete message, in bytes.
  [[nodiscard]] std::size_t held() const noexcept { return message_.capacity(); }
  /// Takes no more bytes, and frees its memory.
  void give_up() noexcept {
    dead_ = true;
    std::string{}.swap(message_);
  }

  /// Returns true between messages: no bytes are kept.
  [[nodiscard]] bool idle() const noexcept { return !in_message_ && !in_payload_ && header_have_ == 0; }

 private:
  bool violation(Event& event, std::uint16_t code, std::string_view why);
  bool begin_frame(Event& event);
  bool check_text(Event& event);
  void end_frame(Event& event);
  void end_control(Event& event);
  void give_piece(Event& event);
  /// Whether the bytes of the current message are returned in pieces.
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
  std::size_t message_size_ = 0;  ///< filled bytes of message_; message_ may be longer
  std::size_t checked_ = 0;       ///< bytes of a text that are known to be UTF-8
  std::string control_;
};

}  // namespace skiff::protocol
