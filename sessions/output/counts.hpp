#pragma once

#include <array>
#include <cstdint>

namespace skiff::sessions {

/// Counts of output since the agent's start, for its metrics. Reactor thread only.
struct OutputCounts {
  std::array<std::uint64_t, 2> bytes{};      ///< stdout, stderr
  std::array<std::uint64_t, 1> gaps{};       ///< gaps in logs, where output was dropped
  std::array<std::uint64_t, 1> gap_bytes{};  ///< bytes in these gaps
};

}  // namespace skiff::sessions
