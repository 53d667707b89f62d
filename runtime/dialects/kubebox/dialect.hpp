#pragma once

#include "runtime/dialects/dialect.hpp"

/// The protocol of the kubebox Python client (docs/dialects/kubebox.md): REST, and Socket.IO over a WebSocket.
namespace skiff::runtime::dialects::kubebox {

/// The dialect's row in the table of dialects.
[[nodiscard]] const Dialect& dialect();

}  // namespace skiff::runtime::dialects::kubebox
