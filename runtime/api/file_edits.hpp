#pragma once

#include "runtime/api/file_call.hpp"

namespace skiff::runtime::api {

[[nodiscard]] Task<Result<>> edit_file(Call& call, const FileCall& file);  ///< PATCH .../files/{path} with JSON
[[nodiscard]] Task<Result<>> change_files(Call& call);                     ///< POST .../files:batch

}  // namespace skiff::runtime::api
