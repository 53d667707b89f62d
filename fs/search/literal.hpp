#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace skiff::fs {

/// Finds one string in many bytes: looks for its two rarest bytes sixteen places at a time, then compares the rest.
class Literal {
 public:
  static constexpr std::size_t kNowhere = std::string_view::npos;

  /// `text` is not empty. With `ignore_case` ASCII letters stand for both their cases.
  explicit Literal(std::string_view text, bool ignore_case = false);

  /// The first place at or after `from` where it stands, or kNowhere.
  [[nodiscard]] std::size_t find(std::string_view bytes, std::size_t from = 0) const noexcept;
  [[nodiscard]] std::size_t size() const noexcept { return text_.size(); }

 private:
  [[nodiscard]] bool stands_at(const char* place) const noexcept;

  std::string text_;  // in lower case with ignore_case
  bool ignore_case_ = false;
  std::size_t first_ = 0, second_ = 0;   // where in the text the two rarest bytes are
  std::array<unsigned char, 2> fold_{};  // 0x20 when that byte is a letter whose case is ignored
};

}  // namespace skiff::fs
