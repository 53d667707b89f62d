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

/// Whether a signal to the process `self` counts as sent from outside the container. PID 1 of a container also gets
/// signals of its own commands. Only kill(2) from outside its PID namespace shows the sender 0. A command can forge a
/// sender, or make the kernel send a signal (F_SETSIG, fcntl(2)), but not with the code of kill(2).
[[nodiscard]] bool is_from_outside(const signalfd_siginfo& info, pid_t self) noexcept;

/// The queue of pending signals that the processes of this user share (`SigQ` of proc_pid_status(5)).
struct SignalQueue {
  std::uint64_t entries = 0;
  std::uint64_t limit = 0;  ///< RLIMIT_SIGPENDING of this process
  [[nodiscard]] bool is_full() const noexcept { return entries >= limit; }
};

/// Parses the queue from the text of /proc/self/status; empty if the line is missing.
[[nodiscard]] std::optional<SignalQueue> signal_queue(std::string_view status);

/// Whether a signal that was read between the two looks may have had no entry in the queue. The kernel gives each
/// signal of kill(2) an entry, whatever the limit is, and frees it when the signal is read. A signal of
/// rt_sigqueueinfo(2) gets none while the queue is full; its sender is then lost, and it looks as if it came from
/// outside. Only a full queue counts, because entries come and go all the time on a busy machine.
[[nodiscard]] bool had_no_entry(const SignalQueue& before, const SignalQueue& after) noexcept;

/// Receives SIGTERM and SIGINT, which stop the agent, and SIGHUP, which makes it reopen its files. The constructor
/// blocks them in this thread and in threads that start afterwards.
class Signals {
 public:
  Signals();

  /// Calls `stop` or `hang_up` for each signal, until cancelled. SIGTERM and SIGINT count only if they came from
  /// outside and the kernel cannot have lost their sender; ignored ones are logged, at most one line a second.
  /// `hang_up` gets whether SIGHUP came from outside: any process may make the agent reopen its files, but not stop it.
  [[nodiscard]] Task<> watch(std::function<void(int signal)> stop, std::function<void(bool from_outside)> hang_up);

 private:
  sigset_t set_{};
};

}  // namespace skiff::runtime
