#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "fs/search/wildcard.hpp"

namespace skiff::fs {

/// The rules of one directory's ignore files (`.gitignore`, `.git/info/exclude`), as in gitignore(5).
class IgnoreRules {
 public:
  /// At most so many bytes are read from each file, and so many rules kept for a directory; the rest has no effect.
  static constexpr std::size_t kMostBytes = std::size_t{1} << 20U;
  static constexpr std::size_t kMostRules = 20'000;

  enum class Verdict : unsigned char { none, ignored, kept };

  IgnoreRules() = default;
  explicit IgnoreRules(std::string_view text);

  /// Applies the rules to a path relative to the directory that holds them; the last rule that matches decides.
  [[nodiscard]] Verdict judge(std::string_view path, bool is_directory) const noexcept;
  [[nodiscard]] bool empty() const noexcept { return rules_.empty(); }

 private:
  struct Rule {
    PathWildcard pattern;
    bool keeps = false;             ///< the rule begins with `!`
    bool only_directories = false;  ///< the rule ends with a slash
    bool any_depth = false;         ///< the rule has no other slash: it applies to the name in any directory
  };
  std::vector<Rule> rules_;
};

/// The rules that apply in one directory: its own, then those of the directories above it.
struct IgnoreScope {
  std::shared_ptr<const IgnoreScope> above;
  IgnoreRules rules;
  std::size_t base = 0;  ///< length of the path to the directory that holds `rules`, with the slash
};

/// Whether a rule ignores `path` itself. Does not check the directories above it: a walk enters no ignored directory.
[[nodiscard]] bool is_ignored(const IgnoreScope* scope, std::string_view path, bool is_directory) noexcept;

/// Reads the scope of the directory at `path` ("" or "a/b"), opened as `directory`: its `.gitignore` and, at the top of
/// a repository, `.git/info/exclude`. Unreadable files ignore nothing; links are not followed.
[[nodiscard]] std::shared_ptr<const IgnoreScope> read_ignore_scope(int directory, std::string_view path,
                                                                   std::shared_ptr<const IgnoreScope> above);

}  // namespace skiff::fs
