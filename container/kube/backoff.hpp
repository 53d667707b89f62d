#pragma once

#include <chrono>
#include <limits>
#include <optional>

#include "base/clock.hpp"
#include "container/kube/status.hpp"

namespace skiff::kube {

/// Whether a failed request is worth sending again, and after how long. What the server has refused before it did
/// anything (429 with Retry-After, no connection) may be sent again by anybody; what may have taken effect only if
/// doing it twice is the same as doing it once. The time decides how long, not the number of tries: a control plane
/// that elects or restarts is away for a minute as easily as for a second.
class Backoff {
 public:
  struct Limits {
    std::chrono::milliseconds first{100};  ///< doubles with each failure
    std::chrono::milliseconds most{5'000};
    std::chrono::milliseconds all{60'000};           ///< from the first failure on
    int attempts = std::numeric_limits<int>::max();  ///< for those who can't wait
  };
  explicit Backoff(Limits limits) : limits_{limits} {}

  /// Half of the time is random, so that many clients that failed together don't come back together. Nothing: give up.
  /// Before `until` the time is not up, whatever the limits say.
  [[nodiscard]] std::optional<std::chrono::milliseconds> next(const Failure& failure, bool repeatable,
                                                              SteadyTime until = {});
  /// The next of the growing times, whatever failed.
  [[nodiscard]] std::chrono::milliseconds grow();
  /// It worked: the next failure is the first one again.
  void reset() noexcept;

 private:
  Limits limits_;
  std::chrono::milliseconds step_{0};
  int failures_ = 0;
  SteadyTime began_{};
};

}  // namespace skiff::kube
