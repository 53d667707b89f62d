#pragma once

#include "base/async/task.hpp"
#include "runtime/dialects/http_dialect.hpp"

namespace skiff::runtime::dialects::python_runtime {

/// POST /upload: writes the part `file` of a multipart body to where its file name says, below the root of the default
/// session; missing directories are made. The file is there when the body was whole, and as it was before otherwise. Of
/// several such parts the last one counts. The body is read to its end also when it is refused, so that the client,
/// which sends all of it first, gets to read why.
[[nodiscard]] Task<Result<>> upload(Request* request);

}  // namespace skiff::runtime::dialects::python_runtime
