#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "fs/search/walk.hpp"
#include "fs/search/wildcard.hpp"

namespace skiff::fs {

/// A compiled glob pattern: `*`, `?`, `[...]`, `**` as a whole component for any number of directories, `{a,b}`, `\x`.
/// It is anchored: `*.c` matches in the root only, `**/*.c` everywhere.
class Glob {
 public:
  static constexpr std::size_t kLongest = 4096;          ///< bytes of a pattern
  static constexpr std::size_t kMostAlternatives = 256;  ///< expansions of its braces

  /// Errors: `invalid_field` for a pattern that is too long, or whose brackets or braces are not closed.
  [[nodiscard]] static Result<Glob> compile(std::string_view pattern);

  /// `path` is relative to the root, "a/b". The time is proportional to its length times the pattern's.
  [[nodiscard]] bool matches(std::string_view path) const noexcept;
  /// Returns false when nothing beneath this directory can match.
  [[nodiscard]] bool may_match_beneath(std::string_view directory) const noexcept;

 private:
  std::vector<PathWildcard> alternatives_;
};

struct GlobMatch {
  std::string path;
  WalkEntry::Kind kind = WalkEntry::Kind::file;
};

struct GlobOptions {
  WalkOptions walk = {};
  std::uint64_t most = 100'000;  ///< limit of matches
};

struct GlobSummary {
  std::uint64_t matches = 0;
  std::uint64_t unreadable = 0;  ///< directories that could not be read
  bool truncated = false;        ///< there may be more: `most` was reached, or the search was stopped
};

/// Takes some matches; returns false to stop. Called by one thread at a time.
using GlobSink = std::function<bool(std::span<const GlobMatch>)>;

/// Finds the matches beneath `directory`. Blocks; meant for a pool thread.
[[nodiscard]] GlobSummary find_matches(const UniqueFd& directory, const Glob& glob, const GlobOptions& options,
                                       const std::stop_token& stop, const GlobSink& sink);

}  // namespace skiff::fs
