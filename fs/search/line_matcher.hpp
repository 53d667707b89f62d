#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "fs/search/literal.hpp"

namespace re2 {
class RE2;
}

namespace skiff::fs {

struct LinePattern {
  std::string text;
  bool literal = false;  ///< search for the text itself; otherwise it is a regular expression of RE2
  bool ignore_case = false;
};

/// Finds lines that match. No match spans a line end; `^` and `$` are those of a line. Text is UTF-8; invalid bytes are
/// harmless: `.` does not match them. Not thread-safe: each thread needs a copy.
class LineMatcher {
 public:
  static constexpr std::size_t kLongest = 16 * 1024;  ///< bytes of a pattern

  /// Errors: `invalid_field` for a pattern that is empty, too long, holds a line end, or is invalid for RE2.
  [[nodiscard]] static Result<LineMatcher> compile(const LinePattern& pattern);

  LineMatcher(const LineMatcher& other);
  LineMatcher(LineMatcher&&) noexcept;
  LineMatcher& operator=(const LineMatcher&) = delete;
  LineMatcher& operator=(LineMatcher&&) noexcept;
  ~LineMatcher();

  struct Match {
    std::size_t begin;
    std::size_t end;
  };
  /// Returns the first match at or after `from`, which must be the beginning of a line. `text` is whole lines.
  [[nodiscard]] std::optional<Match> find(std::string_view text, std::size_t from);

 private:
  LineMatcher() = default;
  [[nodiscard]] std::optional<Match> search(std::string_view text, std::size_t from) const;

  std::optional<Literal> literal_;        // a string that every match holds, or the whole pattern
  std::unique_ptr<re2::RE2> expression_;  // null when the literal is the whole pattern
  std::uint64_t tried_ = 0, passed_ = 0;  // lines that held the literal; bytes that were skipped
};

/// Returns a string that every match of the expression holds, as far as one pass over the expression shows; else empty.
/// With `ignore_case` it has no letter with case variants outside of ASCII (k and s have some in Unicode).
[[nodiscard]] std::string required_literal(std::string_view expression, bool ignore_case);

}  // namespace skiff::fs
