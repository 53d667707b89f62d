#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "base/async/task.hpp"
#include "base/async/timer.hpp"
#include "base/clock.hpp"

namespace skiff {

/// A time limit that is moved often and reached seldom. Moving it stores a time; the timer behind it looks at that time
/// only when it fires, so a busy connection pays no timer operation per request. Reactor thread only.
class Deadline {
 public:
  /// The reactor calls `expired` when the limit is reached. `expired` must not destroy this Deadline or its owner.
  Deadline(Executor executor, std::function<void()> expired);
  ~Deadline();
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

  void expires_after(std::chrono::milliseconds time);
  void expires_at(SteadyTime time);
  /// No limit until the next `expires_after`.
  void clear() noexcept { at_ = SteadyTime::max(); }
  [[nodiscard]] bool expired() const noexcept { return fired_; }

 private:
  void arm();

  std::function<void()> on_expired_;
  Timer timer_;
  SteadyTime at_ = SteadyTime::max();
  SteadyTime armed_for_ = SteadyTime::max();
  bool fired_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

/// Waits for `time`; only cancellation ends the wait early.
[[nodiscard]] Task<> pause(std::chrono::milliseconds time);

}  // namespace skiff
