#pragma once

#include "base/async/task.hpp"
#include "runtime/dialects/http_dialect.hpp"

namespace skiff::runtime::dialects::python_runtime {

/// POST /execute: runs a shell line in the default session and answers when it has ended. Its tree is ended when the
/// client leaves, or when its time is over. What goes wrong with the command is told in a 200, as with the original.
[[nodiscard]] Task<Result<>> execute(Request* request);

}  // namespace skiff::runtime::dialects::python_runtime
