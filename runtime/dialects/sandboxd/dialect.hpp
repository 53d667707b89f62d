#pragma once

#include "runtime/dialects/dialect.hpp"

namespace skiff::runtime::dialects::sandboxd {

/// The runtime of kubernetes-sigs/agent-sandbox: files by REST, processes by gRPC (docs/dialects/sandboxd.md).
[[nodiscard]] const Dialect& dialect();

}  // namespace skiff::runtime::dialects::sandboxd
