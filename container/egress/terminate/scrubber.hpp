#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace skiff::container::egress {

/// Masks texts in a stream of bytes that comes in arbitrary pieces: each of their bytes becomes a `*`, so lengths stay.
/// It keeps back only what may be the beginning of such a text.
class Scrubber {
 public:
  /// None of the texts is empty.
  explicit Scrubber(std::vector<std::string> texts);

  /// Returns what may pass after these bytes, valid until the next call and as long as they are.
  [[nodiscard]] std::string_view pass(std::string_view bytes);
  /// Returns what was kept back, at the end of the stream.
  [[nodiscard]] std::string_view rest();
  /// How often a text was masked.
  [[nodiscard]] std::size_t masked() const noexcept { return masked_; }

 private:
  /// One text, and how many of its bytes the stream ends with (Knuth, Morris, Pratt).
  struct Search {
    std::string text;
    std::vector<std::size_t> borders;  ///< by length of a beginning: the longest shorter one that it ends with
    std::size_t found = 0;
  };
  /// Whether no text is or begins in these bytes, which are the first ones or follow on ones that have passed.
  [[nodiscard]] bool has_nothing(std::string_view bytes);
  void search(Search& one, std::string_view bytes, std::size_t kept);

  std::vector<Search> searches_;
  std::string bytes_;  ///< what was kept back, masked so far, and then what has come
  std::size_t passed_ = 0;
  std::size_t masked_ = 0;
};

/// Returns a whole text with these texts masked.
[[nodiscard]] std::string scrubbed(std::string_view whole, const std::vector<std::string>& texts);

}  // namespace skiff::container::egress
