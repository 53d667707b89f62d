#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <string>

namespace skiff {

using SteadyTime = std::chrono::steady_clock::time_point;
using WallTime = std::chrono::sys_time<std::chrono::microseconds>;

/// The wall clock in microseconds (clock_gettime(2) CLOCK_REALTIME), for display only: waits use the steady clock.
[[nodiscard]] WallTime wall_now() noexcept;

/// Formats a time as RFC 3339 in UTC with milliseconds: 2026-01-31T23:59:59.042Z.
[[nodiscard]] std::string rfc3339(WallTime time);
inline constexpr std::size_t kRfc3339 = 24;  ///< length in bytes
/// Writes the same form without an allocation, for lists with thousands of entries. Years 0 to 9999 only.
void put_rfc3339(WallTime time, std::span<char, kRfc3339> room) noexcept;

}  // namespace skiff
