#pragma once

#include "runtime/dialects/e2b/state.hpp"

/// /files: the bytes of files.
namespace skiff::runtime::dialects::e2b {

/// GET and HEAD: a file, or a part of it.
[[nodiscard]] Task<Result<>> send_file(Call* call);
/// POST: one file as octets, also by gzip, or any number of them as the parts `file` of a multipart form. Each shows
/// under its name when it is whole.
[[nodiscard]] Task<Result<>> take_files(Call* call);

}  // namespace skiff::runtime::dialects::e2b
