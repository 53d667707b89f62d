#pragma once

#include "runtime/api/call.hpp"

namespace skiff::runtime::api {

// Searches, streamed as NDJSON while they run; a last record sums up.

[[nodiscard]] Task<Result<>> glob_files(Call& call);
[[nodiscard]] Task<Result<>> grep_files(Call& call);

}  // namespace skiff::runtime::api
