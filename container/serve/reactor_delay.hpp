#pragma once

#include <array>
#include <chrono>
#include <span>

#include "base/async/task.hpp"
#include "base/metrics.hpp"

namespace skiff::container::serve {

/// Measures how late the reactor runs a timer: whatever holds up the reactor holds up all requests. Reactor thread
/// only.
class ReactorDelay {
 public:
  static constexpr std::chrono::milliseconds kBetween{100};

  /// Measures repeatedly, until it is cancelled. The object must outlive it.
  [[nodiscard]] Task<> measure();

  [[nodiscard]] std::span<const Histogram> seconds() const noexcept { return seconds_; }

 private:
  std::array<Histogram, 1> seconds_{};
};

}  // namespace skiff::container::serve
