#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace skiff::fs {

/// Finds one string in many bytes: it looks for the two rarest bytes at sixteen positions at a time, then compares the
/// rest.
class Literal {
 public:
  static constexpr std::size_t kNowhere = std::string_view::npos;

  /// `text` must not be empty. With `ignore_case`, ASCII letters match both cases.
  explicit Literal(std::string_view text, bool ignore_case = false);

  /// Returns the first position at or after `from`, or kNowhere.
  [[nodiscard]] std::size_t find(std::string_view bytes, std::size_t from = 0) const noexcept;
  [[nodiscard]] std::size_t size() const noexcept { return text_.size(); }

 private:
  [[nodiscard]] bool stands_at(const char* location) const noexcept;

  std::string text_;  // in lower case with ignore_case
  bool ignore_case_ = false;
  std::size_t first_ = 0, second_ = 0;   // positions of the two rarest bytes in the text
  std::array<unsigned char, 2> fold_{};  // 0x20 when that byte is a letter whose case is ignored
};

}  // namespace skiff::fs
