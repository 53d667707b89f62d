#pragma once

#include "runtime/dialects/dialect.hpp"

/// The protocol of E2B's agent, envd, for E2B's SDKs (docs/e2b.md): calls of the Connect protocol, and /files.
namespace skiff::runtime::dialects::e2b {

/// The dialect's row in the table of dialects.
[[nodiscard]] const Dialect& dialect();

}  // namespace skiff::runtime::dialects::e2b
