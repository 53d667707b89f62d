#pragma once

#include <string>

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "runtime/dialects/http_dialect.hpp"

/// The handlers of /v1/files/{path}. `path` is what follows the route's last slash, decoded once.
namespace skiff::runtime::dialects::sandboxd {

/// Answers GET and HEAD with the bytes of a file, or the entries of a directory.
[[nodiscard]] Task<Result<>> get_file(Request* request, std::string path);
/// Writes a whole file and creates its missing parents. The content is the raw body, or the part `file` of a multipart
/// one. Answers 204.
[[nodiscard]] Task<Result<>> put_file(Request* request, std::string path);
/// Removes a file, a link (not its target) or a directory. Answers 204.
[[nodiscard]] Task<Result<>> delete_file(Request* request, std::string path);

}  // namespace skiff::runtime::dialects::sandboxd
