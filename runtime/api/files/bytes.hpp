#pragma once

#include "runtime/api/call.hpp"

namespace skiff::runtime::api {

// The bytes of one file. A file is as many gigabytes as the disk holds: it goes through in constant memory.

[[nodiscard]] Task<Result<>> read_file(Call& call);    ///< GET and HEAD .../files/{path}
[[nodiscard]] Task<Result<>> write_file(Call& call);   ///< PUT
[[nodiscard]] Task<Result<>> change_file(Call& call);  ///< PATCH: edits, or an append
[[nodiscard]] Task<Result<>> delete_file(Call& call);  ///< DELETE

}  // namespace skiff::runtime::api
