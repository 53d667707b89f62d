#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "protocol/http/message.hpp"

namespace skiff::protocol {

/// Finds the payload in a chunked body (RFC 9112, 7.1) that comes in arbitrary pieces. It is strict where two parties
/// could disagree about the end of the body: a size is 1 to 15 hexadecimal digits followed at once by CRLF or an
/// extension, lines end with CRLF only, extensions and trailers are bounded and hold no control characters. (Beast's
/// own reader accepts bare line feeds within an extension, so it is not used here.)
class ChunkedDecoder {
 public:
  /// `takes_spaces`: accept blanks after a size, which some servers write and their clients accept.
  explicit ChunkedDecoder(bool takes_spaces = false) noexcept : takes_spaces_{takes_spaces} {}

  /// Until `done()`: take `payload_left()` bytes as payload, or give more framing to `consume`.
  [[nodiscard]] bool done() const noexcept { return state_ == State::done; }
  /// The remaining bytes of the current chunk, 0 between chunks.
  [[nodiscard]] std::uint64_t payload_left() const noexcept { return state_ == State::payload ? left_ : 0; }
  /// Reports that `count` bytes of payload were taken; at most `payload_left()`.
  void take_payload(std::uint64_t count) noexcept;

  /// Reads framing from the start of `bytes` until payload begins, the body is done, or the bytes are used up. Returns
  /// the number of used bytes. Errors: `invalid_request` for broken framing.
  [[nodiscard]] Result<std::size_t> consume(std::string_view bytes);

  /// The fields after the last chunk. A server ignores them.
  [[nodiscard]] Headers& trailers() noexcept { return trailers_; }

 private:
  enum class State : unsigned char {
    size_first,
    size,
    size_spaces,
    extension,
    size_line_feed,
    payload,
    payload_return,
    payload_line_feed,
    trailer,
    trailer_line_feed,
    done
  };
  [[nodiscard]] Result<> step(char c);
  [[nodiscard]] Result<> end_trailer_line();

  static constexpr std::size_t kMostExtensionBytes = 256;  ///< limit for one chunk
  static constexpr std::size_t kMostTrailerBytes = 8 * 1024;

  bool takes_spaces_;
  State state_ = State::size_first;
  std::uint64_t left_ = 0;
  std::size_t digits_ = 0;
  std::size_t extension_bytes_ = 0;
  std::size_t trailer_bytes_ = 0;
  std::string line_;
  Headers trailers_;
};

}  // namespace skiff::protocol
