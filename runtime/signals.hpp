#pragma once

#include <csignal>
#include <functional>

#include "base/task.hpp"

namespace skiff::runtime {

/// SIGTERM and SIGINT, which ask the agent to end, and SIGHUP, which asks it to look at its files again. They are
/// blocked in this thread and in those started afterwards, and read here.
class Signals {
 public:
  Signals();

  /// Calls `stop` or `hang_up` for each, until cancelled. As PID 1 the agent can be signalled by its commands: SIGTERM
  /// and SIGINT then count only from outside the container.
  [[nodiscard]] Task<> watch(std::function<void()> stop, std::function<void()> hang_up);

 private:
  sigset_t set_{};
};

}  // namespace skiff::runtime
