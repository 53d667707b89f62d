#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "base/clock.hpp"

namespace skiff::protocol {

/// Tells a working client from one that only keeps the server busy (RFC 9113, 10.5): frames without payload cost
/// tokens, responses earn some. A bucket of tokens fills with time. So a client that reads a large response may send
/// the WINDOW_UPDATE and PING frames that belong to it, and a client that sends nothing else runs out.
class FrameMeter {
 public:
  struct Rate {
    std::uint32_t burst = 2'000;     ///< initial and largest number of tokens
    std::uint32_t per_second = 200;  ///< tokens added with time
  };

  FrameMeter(Rate rate, SteadyTime now) noexcept : rate_{rate}, tokens_{rate.burst}, filled_{now} {}

  /// Returns false when there are too few tokens: the connection must end.
  [[nodiscard]] bool pay(std::uint32_t cost, SteadyTime now) noexcept {
    if (cost == 0) return true;
    if (cost > tokens_) fill(now);
    if (cost > tokens_) return false;
    tokens_ -= cost;
    return true;
  }
  void earn(std::uint32_t tokens) noexcept { tokens_ = std::min(tokens_ + tokens, rate_.burst); }

 private:
  void fill(SteadyTime now) noexcept {
    using std::chrono::milliseconds;
    const auto passed = std::chrono::duration_cast<milliseconds>(now - filled_).count();
    // Time beyond burst / per_second seconds does not count, as the bucket is full then, so nothing overflows.
    const std::int64_t whole = std::int64_t{1000} * rate_.burst / std::max(rate_.per_second, 1U) + 1000;
    const auto tokens = std::min(passed, whole) * rate_.per_second / 1000;
    if (tokens == 0) return;  // the time is not lost: it counts in a later call
    filled_ = now;
    earn(static_cast<std::uint32_t>(tokens));
  }

  Rate rate_;
  std::uint32_t tokens_;
  SteadyTime filled_;
};

}  // namespace skiff::protocol
