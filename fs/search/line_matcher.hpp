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
  bool literal = false;  ///< the text itself; otherwise a regular expression of RE2
  bool ignore_case = false;
};

/// Finds lines that match. No match goes over the end of a line; `^` and `$` are those of a line. Text is UTF-8, but
/// bytes that aren't do no harm: they match no `.`. Not for several threads at once: each takes a copy.
class LineMatcher {
 public:
  static constexpr std::size_t kLongest = 16 * 1024;  ///< bytes of a pattern

  /// `invalid_field` for an empty pattern, one that is too long or holds a line end, or that RE2 does not take.
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
  /// The first match at or after `from`, where a line begins. `text` is whole lines.
  [[nodiscard]] std::optional<Match> find(std::string_view text, std::size_t from);

 private:
  LineMatcher() = default;
  [[nodiscard]] std::optional<Match> search(std::string_view text, std::size_t from) const;

  std::optional<Literal> literal_;        // what every match holds, or all of it
  std::unique_ptr<re2::RE2> expression_;  // nothing when the literal is all there is to match
  std::uint64_t tried_ = 0, passed_ = 0;  // lines that held the literal, bytes that were passed over
};

/// A string that every match of the expression holds, as long as can be told by looking at it once; empty if none. With
/// `ignore_case` one whose cases are ASCII's alone (k and s have other forms in Unicode).
[[nodiscard]] std::string required_literal(std::string_view expression, bool ignore_case);

}  // namespace skiff::fs
