#pragma once

#include "runtime/api/call.hpp"

namespace skiff::runtime::api {

// Folders, names and modes.

[[nodiscard]] Task<Result<>> list_files(Call& call);
[[nodiscard]] Task<Result<>> stat_files(Call& call);
[[nodiscard]] Task<Result<>> move_file(Call& call);
[[nodiscard]] Task<Result<>> copy_file(Call& call);
[[nodiscard]] Task<Result<>> make_folder(Call& call);
[[nodiscard]] Task<Result<>> make_link(Call& call);
[[nodiscard]] Task<Result<>> set_file_mode(Call& call);

}  // namespace skiff::runtime::api
