#pragma once

#include <string_view>

#include "fs/archive/extract.hpp"
#include "runtime/api/answers/answer.hpp"
#include "runtime/api/call.hpp"

namespace skiff::runtime::api {

// Whole trees, both ways, in constant memory.

[[nodiscard]] Task<Result<>> read_archive(Call& call);   ///< GET .../files:archive
[[nodiscard]] Task<Result<>> write_archive(Call& call);  ///< PUT

/// The trailer that tells how many files and directories an answer of many lacks; 0: it lacks none.
inline constexpr std::string_view kLeftOut = "X-Skiff-Left-Out";

/// What was unpacked.
[[nodiscard]] const Answer<fs::ExtractSummary>& unpacked_answer();

}  // namespace skiff::runtime::api
