#pragma once

#include <sys/signalfd.h>
#include <sys/types.h>

#include <csignal>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "base/task.hpp"

namespace skiff::runtime {

/// Whether a signal to the process `self` counts as that of whoever runs the agent. PID 1 of a container hears its own
/// commands, too: only kill(2) from outside of its PID namespace shows the sender 0, and a command can forge a sender,
/// or have the kernel send (F_SETSIG, fcntl(2)), but not with the code of kill(2).
[[nodiscard]] bool is_from_outside(const signalfd_siginfo& info, pid_t self) noexcept;

/// How many entries of this user's queue of signals are not those of signals that wait for this process, from the text
/// of /proc/self/status; nothing when it does not say. The kernel gives each signal of kill(2) an entry, whatever the
/// limit is. One that a process made up itself (rt_sigqueueinfo(2)) gets none when the queue is full: what it said of
/// itself is lost, and it looks as if it came from outside. Then this number grows by one when it is read.
[[nodiscard]] std::optional<std::int64_t> entries_of_others(std::string_view status);

/// SIGTERM and SIGINT, which ask the agent to end, and SIGHUP, which asks it to look at its files again. They are
/// blocked in this thread and in those started afterwards, and read here.
class Signals {
 public:
  Signals();

  /// Calls `stop` or `hang_up` for each, until cancelled. SIGTERM and SIGINT count only from outside, and not when the
  /// kernel may have lost who sent them; the log has one line a second about those that don't. `hang_up` is told
  /// whether SIGHUP came from there: a look at the files harms nobody, an end would.
  [[nodiscard]] Task<> watch(std::function<void()> stop, std::function<void(bool from_outside)> hang_up);

 private:
  sigset_t set_{};
};

}  // namespace skiff::runtime
