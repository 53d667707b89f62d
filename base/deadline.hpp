#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "base/clock.hpp"
#include "base/task.hpp"
#include "base/timer.hpp"

namespace skiff {

/// A time limit that is moved often and reached seldom: moving it stores a time, and the timer behind it looks at that
/// time only when it fires, so a busy connection pays no timer operation per request. Reactor thread only.
class Deadline {
 public:
  /// `expired` is called from the reactor when the limit is reached. It must not destroy this Deadline, nor what owns
  /// it.
  Deadline(Executor executor, std::function<void()> expired);
  ~Deadline();
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

  void expires_after(std::chrono::milliseconds time);
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

/// Waits; ends early only by cancellation.
[[nodiscard]] Task<> pause(std::chrono::milliseconds time);

}  // namespace skiff
