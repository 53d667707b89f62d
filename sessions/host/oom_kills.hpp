#pragma once

#include <cstdint>
#include <optional>

#include "sessions/host/memory_guard.hpp"

namespace skiff::sessions {

/// The kernel's count of OOM kills in this container, and its value at the last look.
class OomKills {
 public:
  /// Reads a file; any thread.
  [[nodiscard]] std::optional<std::uint64_t> read() const { return gauge_.oom_kills(); }
  /// Whether `now` is above the value of the last call. Called when a process got a SIGKILL that the agent did not
  /// send.
  [[nodiscard]] bool have_grown(std::optional<std::uint64_t> now) noexcept {
    if (!now || *now <= last_) return false;
    last_ = *now;
    return true;
  }

 private:
  MemoryGauge gauge_;
  std::uint64_t last_ = gauge_.oom_kills().value_or(0);
};

}  // namespace skiff::sessions
