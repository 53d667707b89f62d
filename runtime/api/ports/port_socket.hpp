#pragma once

#include <string_view>

#include "base/async/task.hpp"
#include "base/error.hpp"

namespace skiff::runtime::api {

struct Call;

/// The subprotocol in which an empty text message ends its sender's direction, while the other continues.
inline constexpr std::string_view kTcpProtocol = "skiff.v1.tcp";

/// GET /v1/ports/{port}:tcp: carries a TCP connection to the port as binary messages of a WebSocket. Each direction
/// runs at the pace of its receiver, with at most 64 KiB buffered. It connects to the server before it answers the
/// handshake. docs/ports.md lists the close codes. Errors: those of `connect_to_port`, invalid_field, invalid_request,
/// upgrade_required.
[[nodiscard]] Task<Result<>> open_port(Call& call);

}  // namespace skiff::runtime::api
