#pragma once

#include <string>

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "runtime/dialects/http_dialect.hpp"

/// /v1/files/{path}. `path` is what stands behind the last slash of the route, decoded once.
namespace skiff::runtime::dialects::sandboxd {

/// The bytes of a file, or the entries of a directory. HEAD, too.
[[nodiscard]] Task<Result<>> get_file(Request* request, std::string path);
/// Writes a file whole, parents made: the raw body, or the part `file` of a multipart one. 204.
[[nodiscard]] Task<Result<>> put_file(Request* request, std::string path);
/// Removes a file, a link (not what it leads to) or a directory. 204.
[[nodiscard]] Task<Result<>> delete_file(Request* request, std::string path);

}  // namespace skiff::runtime::dialects::sandboxd
