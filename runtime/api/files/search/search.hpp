#pragma once

#include <stop_token>
#include <string>

#include "fs/archive/compression.hpp"
#include "fs/path/tree.hpp"
#include "fs/search/glob.hpp"
#include "fs/search/grep.hpp"
#include "runtime/api/call.hpp"

namespace skiff::runtime::api {

// Handlers of searches, which are streamed as NDJSON while they run. The last record is a summary.

[[nodiscard]] Task<Result<>> glob_files(Call& call);
[[nodiscard]] Task<Result<>> grep_files(Call& call);

// The searches without HTTP, for other protocols. They pass each record to the sink as a line of JSON, the summary
// last. They block, and move from `options.walk`. Errors: those of fs::Tree.

struct GlobAsk {
  fs::Glob glob;
  fs::GlobOptions options;
  std::string path;  ///< directory where the search begins
};
[[nodiscard]] Result<> run_glob(const fs::Tree& tree, GlobAsk& ask, const fs::ByteSink& sink,
                                const std::stop_token& stop);

struct GrepAsk {
  fs::LineMatcher matcher;
  fs::GrepOptions options;
  std::string path;  ///< file to search, or directory where the search begins
};
[[nodiscard]] Result<> run_grep(const fs::Tree& tree, GrepAsk& ask, const fs::ByteSink& sink,
                                const std::stop_token& stop);

}  // namespace skiff::runtime::api
