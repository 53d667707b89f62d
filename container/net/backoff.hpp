#pragma once

#include <chrono>
#include <limits>
#include <optional>

#include "base/clock.hpp"

namespace skiff::net {

/// Decides when to send a failed request again. The time is the limit, not the number of tries: a control plane that
/// elects a leader or restarts may be away for a minute.
class Backoff {
 public:
  struct Limits {
    std::chrono::milliseconds first{100};  ///< doubles with each failure
    std::chrono::milliseconds most{5'000};
    std::chrono::milliseconds all{60'000};           ///< time from the first failure on
    int attempts = std::numeric_limits<int>::max();  ///< most tries, for callers that cannot wait
  };
  explicit Backoff(Limits limits) : limits_{limits} {}

  /// Returns the time to wait after a failure, or nullopt to give up. The time is longer by `asked`, the wait that the
  /// server asks for. Half of the rest is random, so that clients that failed together do not come back together.
  /// Until `until` the limit of time does not apply.
  [[nodiscard]] std::optional<std::chrono::milliseconds> next(SteadyTime until = {},
                                                              std::chrono::milliseconds asked = {});
  /// Returns the next of the growing times; the limits do not apply.
  [[nodiscard]] std::chrono::milliseconds grow();
  /// Call it after a success: the next failure counts as the first one.
  void reset() noexcept;

 private:
  Limits limits_;
  std::chrono::milliseconds step_{0};
  int failures_ = 0;
  SteadyTime began_{};
};

}  // namespace skiff::net
