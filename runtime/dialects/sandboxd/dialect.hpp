#pragma once

#include <string_view>

#include "runtime/dialects/dialect.hpp"

namespace skiff::runtime::dialects::sandboxd {

inline constexpr std::string_view kDialectName = "sandboxd";

/// The protocol of sandboxd, the runtime of kubernetes-sigs/agent-sandbox: files by REST, processes by gRPC
/// (docs/dialects/sandboxd.md).
[[nodiscard]] const Dialect& dialect();

}  // namespace skiff::runtime::dialects::sandboxd
