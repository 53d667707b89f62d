#pragma once

#include <chrono>
#include <string>

namespace skiff {

using SteadyTime = std::chrono::steady_clock::time_point;
using WallTime = std::chrono::sys_time<std::chrono::microseconds>;

/// The wall clock, in microseconds (clock_gettime(2) CLOCK_REALTIME). Only for showing: waits use the steady clock.
[[nodiscard]] WallTime wall_now() noexcept;

/// RFC 3339 in UTC with milliseconds: 2026-01-31T23:59:59.042Z.
[[nodiscard]] std::string rfc3339(WallTime time);

}  // namespace skiff
