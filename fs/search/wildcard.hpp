#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace skiff::fs {

/// A wildcard for a file name: `*`, `?`, `[a-z]`, `[!a]`, `[[:alpha:]]`, `\x` for x itself. `?` and sets match bytes,
/// not characters. Matching takes time proportional to name times pattern in all cases.
class NameWildcard {
 public:
  [[nodiscard]] bool matches(std::string_view name) const noexcept;

 private:
  friend class PathWildcard;
  struct Token {
    enum class Kind : std::uint8_t { byte, any, set, star } kind;
    unsigned char byte = 0;  ///< value for Kind::byte
    std::uint16_t set = 0;   ///< index in `sets_` for Kind::set
  };
  enum class Form : std::uint8_t { literal, prefix, suffix, general };

  void settle();
  [[nodiscard]] bool matches_tokens(std::string_view name) const noexcept;

  Form form_ = Form::literal;
  std::string text_;  // for all forms but `general`
  std::vector<Token> tokens_;
  std::vector<std::bitset<256>> sets_;
};

/// A wildcard for a path, component by component. A component `**` matches any number of components; at the end, at
/// least one. The syntax is that of gitignore(5) without its `!`, leading and trailing slash.
class PathWildcard {
 public:
  /// Returns nothing when the pattern can never match: an open bracket, or a backslash at the end.
  [[nodiscard]] static std::optional<PathWildcard> compile(std::string_view pattern);

  [[nodiscard]] bool matches(std::string_view path) const noexcept;
  /// Returns false when nothing beneath this directory can match, so a walk may skip it.
  [[nodiscard]] bool may_match_beneath(std::string_view directory) const noexcept;
  /// Whether the pattern is a single component.
  [[nodiscard]] bool is_name() const noexcept { return parts_.size() == 1; }

 private:
  struct Part {
    bool any_directories = false;  ///< `**`
    NameWildcard name;
  };
  std::vector<Part> parts_;
};

/// Returns the end of the bracket expression that begins at `pattern[at]` (the index of its `]`), by the rules of
/// wildcards.
[[nodiscard]] std::optional<std::size_t> bracket_end(std::string_view pattern, std::size_t at);

}  // namespace skiff::fs
