#pragma once

#include "fs/search/glob.hpp"
#include "fs/search/grep.hpp"
#include "runtime/api/answers/event_answers.hpp"

/// The lines of files:glob and files:grep. The same rows write them and describe them in the documents.
namespace skiff::runtime::api {

[[nodiscard]] const Answer<fs::GlobMatch>& glob_match_answer();
[[nodiscard]] const EventAnswer<fs::GlobSummary>& glob_summary();
[[nodiscard]] const Answer<fs::GrepMatch>& grep_match_answer();
[[nodiscard]] const EventAnswer<fs::GrepSummary>& grep_summary();

}  // namespace skiff::runtime::api
