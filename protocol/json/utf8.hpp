#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

/// UTF-8 as Unicode defines it: no overlong forms, no surrogates, nothing above U+10FFFF.
namespace skiff::protocol {

/// How many bytes at the front are whole, valid characters: `bytes.size()` when all of it is valid. ASCII and valid
/// text go by blocks.
[[nodiscard]] std::size_t valid_prefix(std::string_view bytes) noexcept;

[[nodiscard]] inline bool is_valid_utf8(std::string_view bytes) noexcept {
  return valid_prefix(bytes) == bytes.size();
}

/// True when `rest` (what follows a valid prefix) is 1 to 3 bytes that could still become one character. Empty: false.
[[nodiscard]] bool is_incomplete_character(std::string_view rest) noexcept;

/// How many bytes at the end, 0 to 3, are the beginning of a character that the next bytes could complete.
[[nodiscard]] std::size_t incomplete_tail(std::string_view bytes) noexcept;

/// The bytes with one U+FFFD for each maximal subpart of an ill-formed sequence (Unicode 15 section 3.9, as WHATWG
/// does).
[[nodiscard]] std::string to_valid_utf8(std::string_view bytes);
void append_valid_utf8(std::string& out, std::string_view bytes);

/// Cuts one stream of bytes that comes in chunks so that no character falls between two pieces. It keeps at most 3
/// bytes.
class Utf8Splitter {
 public:
  /// What to hand on for one chunk: `head` (the character that earlier chunks had begun, empty or at most 4 bytes),
  /// then `body`, a part of the chunk. Views are good until the next call and while the chunk lives. Bytes that are not
  /// UTF-8 are handed on as they are; nothing is ever lost or reordered.
  struct Pieces {
    std::string_view head;
    std::string_view body;
  };
  [[nodiscard]] Pieces push(std::string_view chunk);

  /// What is held back, and forgets it: at the end of the stream, or when it has been held for long enough.
  [[nodiscard]] std::string_view flush() noexcept;

  [[nodiscard]] std::size_t held() const noexcept { return held_; }

 private:
  std::array<char, 4> begun_{};  ///< the bytes of a character that is not complete
  std::array<char, 8> head_{};   ///< what the last call handed out
  std::size_t held_ = 0;
};

}  // namespace skiff::protocol
