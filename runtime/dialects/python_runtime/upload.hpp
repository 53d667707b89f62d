#pragma once

#include "base/async/task.hpp"
#include "runtime/dialects/http_dialect.hpp"

namespace skiff::runtime::dialects::python_runtime {

/// Handles POST /upload: writes the part `file` of a multipart body to the path in its file name, below the root of the
/// default session. Missing directories are created. The file changes only if the whole body has arrived. Of several
/// such parts the last one counts. A body that is refused is read to its end, because the client sends all of it before
/// it reads the answer.
[[nodiscard]] Task<Result<>> upload(Request* request);

}  // namespace skiff::runtime::dialects::python_runtime
