#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "fs/search/wildcard.hpp"

namespace skiff::fs {

/// The rules of one `.gitignore`, as in gitignore(5).
class IgnoreRules {
 public:
  /// Files are read up to this many bytes and rules; what is beyond ignores nothing.
  static constexpr std::size_t kMostBytes = std::size_t{1} << 20U;
  static constexpr std::size_t kMostRules = 20'000;

  enum class Verdict : unsigned char { none, ignored, kept };

  IgnoreRules() = default;
  explicit IgnoreRules(std::string_view text);

  /// What the rules say of a path relative to the directory that holds them; the last one that matches decides.
  [[nodiscard]] Verdict judge(std::string_view path, bool is_directory) const noexcept;
  [[nodiscard]] bool empty() const noexcept { return rules_.empty(); }

 private:
  struct Rule {
    PathWildcard pattern;
    bool keeps = false;             ///< `!`
    bool only_directories = false;  ///< a slash at the end
    bool any_depth = false;         ///< no other slash: the name alone counts
  };
  std::vector<Rule> rules_;
};

/// The rules that hold in one directory: its own, then those of the directories above it.
struct IgnoreScope {
  std::shared_ptr<const IgnoreScope> above;
  IgnoreRules rules;
  std::size_t base = 0;  ///< how much of a path leads to the directory that holds `rules`, with the slash
};

/// Whether `path` is ignored; a directory above it that is ignored is the walk's business.
[[nodiscard]] bool is_ignored(const IgnoreScope* scope, std::string_view path, bool is_directory) noexcept;

/// The scope of the directory at `path` ("" or "a/b"), opened as `directory`: reads its `.gitignore` and, if it is the
/// top of a repository, `.git/info/exclude`. What can't be read ignores nothing; links are not followed.
[[nodiscard]] std::shared_ptr<const IgnoreScope> read_ignore_scope(int directory, std::string_view path,
                                                                   std::shared_ptr<const IgnoreScope> above);

}  // namespace skiff::fs
