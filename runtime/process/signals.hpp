#pragma once

#include <sys/signalfd.h>
#include <sys/types.h>

#include <csignal>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "base/async/task.hpp"

namespace skiff::runtime {

/// Whether a signal to the process `self` counts as that of whoever runs the agent. PID 1 of a container hears its own
/// commands, too: only kill(2) from outside of its PID namespace shows the sender 0, and a command can forge a sender,
/// or have the kernel send (F_SETSIG, fcntl(2)), but not with the code of kill(2).
[[nodiscard]] bool is_from_outside(const signalfd_siginfo& info, pid_t self) noexcept;

/// The queue of signals that the processes of this user share (`SigQ` of proc_pid_status(5)).
struct SignalQueue {
  std::uint64_t entries = 0;
  std::uint64_t limit = 0;  ///< RLIMIT_SIGPENDING of the process that asks
  [[nodiscard]] bool is_full() const noexcept { return entries >= limit; }
};

/// The queue, from the text of /proc/self/status; nothing when it does not say.
[[nodiscard]] std::optional<SignalQueue> signal_queue(std::string_view status);

/// Whether a signal that was read between the two looks may have had no entry in the queue. The kernel gives each
/// signal of kill(2) one, whatever the limit is, and takes it back when the signal is read. A signal that a process
/// made up itself (rt_sigqueueinfo(2)) gets none while the queue is full: what it said of its sender is lost, and it
/// looks as if it came from outside. Only a full queue makes anybody doubt: entries come and go all the time on a busy
/// machine.
[[nodiscard]] bool had_no_entry(const SignalQueue& before, const SignalQueue& after) noexcept;

/// SIGTERM and SIGINT, which ask the agent to end, and SIGHUP, which asks it to look at its files again. They are
/// blocked in this thread and in those started afterwards, and read here.
class Signals {
 public:
  Signals();

  /// Calls `stop` or `hang_up` for each, until cancelled. SIGTERM and SIGINT count only from outside, and not when the
  /// kernel may have lost who sent them; the log has one line a second about those that don't. `hang_up` is told
  /// whether SIGHUP came from there: its files may be read again at anybody's wish, the agent must not end at it.
  [[nodiscard]] Task<> watch(std::function<void(int signal)> stop, std::function<void(bool from_outside)> hang_up);

 private:
  sigset_t set_{};
};

}  // namespace skiff::runtime
