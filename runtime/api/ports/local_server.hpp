#pragma once

#include <chrono>
#include <cstdint>

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "protocol/net/stream.hpp"

namespace skiff::runtime::api {

/// Connects to the server on the port at 127.0.0.1 or, if none listens there, at ::1, in the agent's network namespace.
/// Errors: port_not_listening, timeout when the server's backlog stays full, resource_exhausted.
[[nodiscard]] Task<Result<protocol::Stream>> connect_to_port(std::uint16_t port, std::chrono::milliseconds limit,
                                                             Executor executor);

}  // namespace skiff::runtime::api
