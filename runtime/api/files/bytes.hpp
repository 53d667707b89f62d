#pragma once

#include "runtime/api/call.hpp"

namespace skiff::runtime::api {

// Handlers for the content of one file, of any size, in constant memory.

[[nodiscard]] Task<Result<>> read_file(Call& call);    ///< GET and HEAD .../files/{path}
[[nodiscard]] Task<Result<>> write_file(Call& call);   ///< PUT
[[nodiscard]] Task<Result<>> change_file(Call& call);  ///< PATCH: edits, or an append
[[nodiscard]] Task<Result<>> delete_file(Call& call);  ///< DELETE

}  // namespace skiff::runtime::api
