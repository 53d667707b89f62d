#pragma once

#include <string_view>

#include "base/async/task.hpp"
#include "base/error.hpp"

namespace skiff::runtime::api {

struct Call;

/// The subprotocol in which an empty text message ends its sender's direction, and the other one goes on.
inline constexpr std::string_view kTcpProtocol = "skiff.v1.tcp";

/// GET /v1/ports/{port}:tcp: the bytes of one TCP connection to the port as the binary messages of a WebSocket, each
/// way at the pace of its receiver, with 64 KiB held of each at most. The server is connected to before the handshake
/// is answered. docs/ports.md has the close codes. Errors: those of `connect_to_port`, invalid_field,
/// upgrade_required.
[[nodiscard]] Task<Result<>> open_port(Call& call);

}  // namespace skiff::runtime::api
