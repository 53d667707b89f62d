#pragma once

#include "runtime/api/call.hpp"

namespace skiff::runtime::api {

// Whole trees, both ways, in constant memory.

[[nodiscard]] Task<Result<>> read_archive(Call& call);   ///< GET .../files:archive
[[nodiscard]] Task<Result<>> write_archive(Call& call);  ///< PUT

}  // namespace skiff::runtime::api
