#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/metrics.hpp"
#include "sessions/process/exit_status.hpp"

namespace skiff::sessions {

/// Counts of commands since the agent's start, for its metrics. Reactor thread only.
struct Counts {
  static constexpr std::size_t kCauses = static_cast<std::size_t>(Cause::spawn_failed) + 1;

  std::array<std::uint64_t, 1> started{};
  std::array<std::uint64_t, kCauses> ended{};  ///< by Cause
  std::array<Histogram, 1> spawn;  ///< seconds from the request to the running program, including the wait for a thread

  void count_end(Cause cause) noexcept { ++ended[static_cast<std::size_t>(cause)]; }
};

}  // namespace skiff::sessions
