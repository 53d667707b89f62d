#pragma once

#include "base/async/task.hpp"
#include "runtime/dialects/http_dialect.hpp"

namespace skiff::runtime::dialects::python_runtime {

/// Handles POST /execute: runs a shell line in the default session and answers when it has ended. Its process tree is
/// ended when the client leaves, or when its time is over. A failure of the command is reported with the status 200, as
/// in the original.
[[nodiscard]] Task<Result<>> execute(Request* request);

}  // namespace skiff::runtime::dialects::python_runtime
