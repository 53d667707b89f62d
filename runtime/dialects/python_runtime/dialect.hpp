#pragma once

#include "runtime/dialects/dialect.hpp"

/// What the runtime of kubernetes-sigs/agent-sandbox, examples/python-runtime-sandbox, speaks to the SDKs of that
/// project (docs/dialects/python-runtime.md).
namespace skiff::runtime::dialects::python_runtime {

/// Its row in the table of dialects.
[[nodiscard]] const Dialect& dialect();

}  // namespace skiff::runtime::dialects::python_runtime
