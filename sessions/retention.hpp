#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <utility>

#include "base/async/deadline.hpp"

namespace skiff::sessions {

/// Keeps ended commands for a time and up to a count, over all sessions; then has them forgotten, oldest first. Reactor
/// thread only.
class Retention {
 public:
  using Forget = std::move_only_function<void()>;
  Retention(Executor executor, std::size_t most, std::chrono::milliseconds keep_for);

  /// Calls `forget` once, when the command's time is over or too many commands have ended after it.
  void add(Forget forget);

 private:
  void prune();

  std::size_t most_;
  std::chrono::milliseconds keep_for_;
  std::deque<std::pair<SteadyTime, Forget>> ended_;
  Deadline next_;
};

}  // namespace skiff::sessions
