#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

/// UTF-8 as Unicode defines it: no overlong forms, no surrogates, nothing above U+10FFFF.
namespace skiff::protocol {

/// Returns how many bytes at the front are whole, valid characters: `bytes.size()` when all bytes are valid. ASCII and
/// valid text are checked by blocks.
[[nodiscard]] std::size_t valid_prefix(std::string_view bytes) noexcept;

[[nodiscard]] inline bool is_valid_utf8(std::string_view bytes) noexcept {
  return valid_prefix(bytes) == bytes.size();
}

/// Returns true when `rest` (the bytes after a valid prefix) is 1 to 3 bytes that could still become one character;
/// false when it is empty.
[[nodiscard]] bool is_incomplete_character(std::string_view rest) noexcept;

/// Returns how many bytes at the end, 0 to 3, begin a character that the next bytes could complete.
[[nodiscard]] std::size_t incomplete_tail(std::string_view bytes) noexcept;

/// Returns the bytes with one U+FFFD for each maximal subpart of an ill-formed sequence (Unicode 15 section 3.9, as
/// WHATWG does).
[[nodiscard]] std::string to_valid_utf8(std::string_view bytes);
void append_valid_utf8(std::string& out, std::string_view bytes);

/// Splits a stream of bytes that comes in chunks, so that no character is split between two pieces. It keeps at most 3
/// bytes.
class Utf8Splitter {
 public:
  /// The output for one chunk: `head` (the character that earlier chunks began, empty or at most 4 bytes), then `body`,
  /// a part of the chunk. Views are valid until the next call and while the chunk lives. Invalid bytes are passed on
  /// unchanged; no byte is lost or reordered.
  struct Pieces {
    std::string_view head;
    std::string_view body;
  };
  [[nodiscard]] Pieces push(std::string_view chunk);

  /// Returns and drops the kept bytes: at the end of the stream, or when they were held for long enough.
  [[nodiscard]] std::string_view flush() noexcept;

  [[nodiscard]] std::size_t held() const noexcept { return held_; }

 private:
  std::array<char, 4> begun_{};  ///< bytes of an incomplete character
  std::array<char, 8> head_{};   ///< head that the last call returned
  std::size_t held_ = 0;
};

}  // namespace skiff::protocol
