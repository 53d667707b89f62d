#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "fs/search/glob.hpp"
#include "fs/search/line_search.hpp"
#include "fs/search/walk.hpp"

namespace skiff::fs {

struct GrepMatch {
  std::string path;
  LineMatch line;
};

struct GrepOptions {
  WalkOptions walk = {};
  SearchLimits lines = {};
  std::optional<Glob> only = {};                         ///< pattern for the paths
  std::uint64_t most = 10'000;                           ///< limit of matches
  std::uint64_t largest_file = std::uint64_t{1} << 30U;  ///< bytes; larger files are not searched
};

struct GrepSummary {
  std::uint64_t files = 0;       ///< files with a match
  std::uint64_t matches = 0;     ///< matches that the sink took
  std::uint64_t searched = 0;    ///< files that were searched to their end
  std::uint64_t unreadable = 0;  ///< files and directories that could not be read
  std::uint64_t too_large = 0;
  std::uint64_t binary = 0;  ///< files abandoned at a zero byte, such as those in UTF-16
  bool truncated = false;    ///< there may be more: `most` was reached, or the search was stopped
};

/// Takes some matches, those of a file in the order of its lines; returns false to stop. Called by one thread at a
/// time.
using GrepSink = std::function<bool(std::span<const GrepMatch>)>;

/// Searches the regular files beneath `directory` as ripgrep does; binary files are left out. Blocks; meant for a pool
/// thread. Memory: about 1 MiB a thread, and the matches that the sink has not taken.
[[nodiscard]] GrepSummary grep(const UniqueFd& directory, const LineMatcher& matcher, const GrepOptions& options,
                               const std::stop_token& stop, const GrepSink& sink);

/// Searches one file, which the caller has opened; `path` is its name in the matches.
[[nodiscard]] GrepSummary grep_file(const UniqueFd& file, const std::string& path, const LineMatcher& matcher,
                                    const GrepOptions& options, const std::stop_token& stop, const GrepSink& sink);

}  // namespace skiff::fs
