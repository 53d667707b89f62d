#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include "base/async/task.hpp"
#include "base/error.hpp"

namespace skiff::runtime::api {

struct Call;

/// Parses a port, 1 to 65535, digits only. Errors: invalid_field.
[[nodiscard]] Result<std::uint16_t> parse_port(std::string_view text);

/// Checks that the request may go to the port. Errors: invalid_field for one of the agent's own ports, invalid_request
/// for a request that has passed through this agent before.
[[nodiscard]] Result<> check_port(const Call& call, std::uint16_t port);

/// Time to connect over loopback; a longer wait means that the server's backlog is full.
inline constexpr std::chrono::milliseconds kPortConnectTime{5'000};

/// Any method on /v1/ports/{port}/{path}: see docs/adr/0023.
[[nodiscard]] Task<Result<>> pass_to_port(Call& call);

}  // namespace skiff::runtime::api
