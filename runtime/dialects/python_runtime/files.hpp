#pragma once

#include "base/async/task.hpp"
#include "runtime/dialects/http_dialect.hpp"

/// The original's routes for files. A path is below the root of the default session, absolute or not; one that names
/// nothing there, but begins with the root's own path, is what `pwd` prints and taken as such.
namespace skiff::runtime::dialects::python_runtime {

/// GET /download/PATH: the bytes of a file, with Range.
[[nodiscard]] Task<Result<>> download(Request* request, std::string_view path);
/// GET /list/PATH: `[{"name", "size", "type": "file" | "directory", "mod_time": seconds}]`, sorted by name.
[[nodiscard]] Task<Result<>> list(Request* request, std::string_view path);
/// GET /exists/PATH: `{"path", "exists"}`.
[[nodiscard]] Task<Result<>> exists(Request* request, std::string_view path);

}  // namespace skiff::runtime::dialects::python_runtime
