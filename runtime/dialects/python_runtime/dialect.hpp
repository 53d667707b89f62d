#pragma once

#include "runtime/dialects/dialect.hpp"

/// The protocol of the runtime in kubernetes-sigs/agent-sandbox, examples/python-runtime-sandbox, for the SDKs of that
/// project (docs/dialects/python-runtime.md).
namespace skiff::runtime::dialects::python_runtime {

/// The dialect's row in the table of dialects.
[[nodiscard]] const Dialect& dialect();

}  // namespace skiff::runtime::dialects::python_runtime
