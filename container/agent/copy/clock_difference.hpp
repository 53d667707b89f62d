#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "protocol/http/message.hpp"

namespace skiff::container {

/// A larger difference is reported: tokens tolerate a minute, and leases and listings are off by the difference.
inline constexpr std::chrono::seconds kMostClockDifference{30};

/// How far the sender's clock is ahead of ours according to its Date header (RFC 9110, 6.6.1), which is exact to a
/// second; negative when it is behind. Empty when the header is absent or invalid.
[[nodiscard]] std::optional<std::chrono::seconds> clock_difference(const protocol::Headers& headers, WallTime now);

/// "70 s ahead of this machine's".
[[nodiscard]] std::string clock_words(std::chrono::seconds difference);

}  // namespace skiff::container
