#pragma once

#include "base/async/task.hpp"
#include "runtime/dialects/http_dialect.hpp"

/// The original's routes for files. A path is below the root of the default session, absolute or not. If nothing is
/// there, a path that begins with the root's own path is taken for an absolute one, as `pwd` prints it.
namespace skiff::runtime::dialects::python_runtime {

/// Answers GET /download/PATH with the bytes of a file, or a Range of them.
[[nodiscard]] Task<Result<>> download(Request* request, std::string_view path);
/// Answers GET /list/PATH with `[{"name", "size", "type": "file" | "directory", "mod_time": seconds}]`, sorted by name.
[[nodiscard]] Task<Result<>> list(Request* request, std::string_view path);
/// Answers GET /exists/PATH with `{"path", "exists"}`.
[[nodiscard]] Task<Result<>> exists(Request* request, std::string_view path);

}  // namespace skiff::runtime::dialects::python_runtime
