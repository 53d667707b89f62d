#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "protocol/http/message.hpp"

namespace skiff::container {

/// Beyond this a clock is worth a word: tokens bear a minute, leases and listings are off by as much.
inline constexpr std::chrono::seconds kMostClockDifference{30};

/// How far the clock of who sent these headers is ahead of ours, by its Date (RFC 9110, 6.6.1), which is exact to a
/// second; negative when it is behind. Nothing when it does not say.
[[nodiscard]] std::optional<std::chrono::seconds> clock_difference(const protocol::Headers& headers, WallTime now);

/// "70 s ahead of this machine's".
[[nodiscard]] std::string clock_words(std::chrono::seconds difference);

}  // namespace skiff::container
