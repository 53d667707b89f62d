#pragma once

#include <array>
#include <cstdint>

namespace skiff::sessions {

/// What was printed since the agent's start, for its metrics. Reactor thread only.
struct OutputCounts {
  std::array<std::uint64_t, 2> bytes{};      ///< stdout, stderr
  std::array<std::uint64_t, 1> gaps{};       ///< places in logs where output was dropped
  std::array<std::uint64_t, 1> gap_bytes{};  ///< and how much
};

}  // namespace skiff::sessions
