#pragma once

#include <chrono>
#include <optional>

#include "protocol/http/message.hpp"

namespace skiff::net {

/// A longer Retry-After counts as absent.
inline constexpr std::chrono::seconds kMostRetryAfter{24 * 60 * 60};

/// Retry-After in seconds (RFC 9110, 10.2.3); a date, which neither the API server nor `skiff serve` sends, counts as
/// absent.
[[nodiscard]] std::optional<std::chrono::milliseconds> retry_after(const protocol::Headers& headers);

}  // namespace skiff::net
