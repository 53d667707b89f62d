#pragma once

#include <string_view>

#include "fs/archive/extract.hpp"
#include "runtime/api/answers/answer.hpp"
#include "runtime/api/call.hpp"

namespace skiff::runtime::api {

// Handlers that send and receive whole trees in constant memory.

[[nodiscard]] Task<Result<>> read_archive(Call& call);   ///< GET .../files:archive
[[nodiscard]] Task<Result<>> write_archive(Call& call);  ///< PUT

/// The trailer with the number of files and directories that are missing in an answer.
inline constexpr std::string_view kLeftOut = "X-Skiff-Left-Out";

/// The answer with the counts of what was unpacked.
[[nodiscard]] const Answer<fs::ExtractSummary>& unpacked_answer();

}  // namespace skiff::runtime::api
