#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "base/clock.hpp"

namespace skiff::protocol {

/// Tells a client that works from one that only keeps the server busy (RFC 9113, 10.5): frames that move no bytes cost,
/// answers earn. A bucket of tokens that fills with time. So a client that takes a large answer may send as many
/// WINDOW_UPDATE and PING frames as go with it, and one that sends nothing else runs out.
class FrameMeter {
 public:
  struct Rate {
    std::uint32_t burst = 2'000;     ///< tokens at the beginning, and the most there can be
    std::uint32_t per_second = 200;  ///< that come by themselves
  };

  FrameMeter(Rate rate, SteadyTime now) noexcept : rate_{rate}, tokens_{rate.burst}, filled_{now} {}

  /// False when it can't pay: the connection is to be ended.
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
    // A bucket is full after burst / per_second seconds: more time than that is not counted, so nothing overflows.
    const std::int64_t whole = std::int64_t{1000} * rate_.burst / std::max(rate_.per_second, 1U) + 1000;
    const auto tokens = std::min(passed, whole) * rate_.per_second / 1000;
    if (tokens == 0) return;  // what passed is not lost: it counts next time
    filled_ = now;
    earn(static_cast<std::uint32_t>(tokens));
  }

  Rate rate_;
  std::uint32_t tokens_;
  SteadyTime filled_;
};

}  // namespace skiff::protocol
