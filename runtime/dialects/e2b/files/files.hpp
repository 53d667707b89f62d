#pragma once

#include "runtime/dialects/e2b/state.hpp"

/// The routes of /files, which read and write the bytes of files.
namespace skiff::runtime::dialects::e2b {

/// Answers GET and HEAD with a file, or a part of it.
[[nodiscard]] Task<Result<>> send_file(Call* call);
/// Handles POST: one file as octets, also compressed with gzip, or any number of files as the parts `file` of a
/// multipart form. A file appears under its name when it is complete.
[[nodiscard]] Task<Result<>> take_files(Call* call);

}  // namespace skiff::runtime::dialects::e2b
