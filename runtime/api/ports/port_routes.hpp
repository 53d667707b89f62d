#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include "base/async/task.hpp"
#include "base/error.hpp"

namespace skiff::runtime::api {

struct Call;

/// 1 to 65535, in digits alone. Errors: invalid_field.
[[nodiscard]] Result<std::uint16_t> parse_port(std::string_view text);

/// Whether the request may go to the port. Errors: invalid_field for one of the agent's own, invalid_request for a
/// request that has come through here before.
[[nodiscard]] Result<> check_port(const Call& call, std::uint16_t port);

/// Over loopback: longer than this and the server's backlog is full.
inline constexpr std::chrono::milliseconds kPortConnectTime{5'000};

/// ANY /v1/ports/{port}/{path}: docs/adr/0023.
[[nodiscard]] Task<Result<>> pass_to_port(Call& call);

}  // namespace skiff::runtime::api
