#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/async/task.hpp"
#include "sessions/process/tag.hpp"

namespace skiff::sessions {

/// One process of a command, from /proc/PID/stat (proc(5)).
struct ProcessInfo {
  pid_t pid = 0;
  pid_t parent = 0;
  pid_t group = 0;
  pid_t session = 0;
  char state = '?';
  std::string name;          ///< comm
  std::string command_line;  ///< arguments joined by spaces, at most 4 KiB; empty for a zombie
  std::uint64_t rss_bytes = 0;
  std::uint64_t start_ticks = 0;
};

/// The process that a command began with: a child of the agent, and the leader of a session and a group of its own.
/// Written by the reactor, read by any thread.
struct Leader {
  /// Whom the number stands for. The reaper says `changing` before it gives a number back to the kernel and `free`
  /// after that, so whoever reads `its_own` knows that the number has meant the leader at all times before.
  enum class Number : unsigned char { its_own, changing, free };

  explicit Leader(pid_t of = 0, Number number_of = Number::its_own) : pid{of}, number{number_of} {}
  [[nodiscard]] bool reaped() const noexcept { return number.load() == Number::free; }

  std::atomic<pid_t> pid;  ///< 0: not started yet
  std::atomic<Number> number;
};

/// All processes of one command, also for a look from another thread than the reactor. A process can take its tag off
/// (a hard limit may be lowered), but not leave its parents: so it is also one of them that is the leader, is in the
/// leader's group or session, or is a child of one of them.
struct Tree {
  Tree(Tag of, std::shared_ptr<const Leader> first = nullptr) : tag{of}, leader{std::move(first)} {}
  Tag tag;
  std::shared_ptr<const Leader> leader;  ///< null: nothing is known of it
};

// What follows reads /proc: in the thread of a `ProcessLooks`, so that the reactor never does.

/// Every live process of the tree, daemons included, but never the agent itself; zombies are left out. One pass over
/// /proc.
[[nodiscard]] std::vector<ProcessInfo> processes_of(const Tree& tree);

/// The same of several trees, in their order, in one pass; without the command lines.
[[nodiscard]] std::vector<std::vector<ProcessInfo>> processes_of_each(const std::vector<Tree>& trees);
/// May wait for as long as a process that hangs in the kernel keeps its memory locked.
void read_command_lines(std::vector<ProcessInfo>& processes);

/// Their pids alone: reads nothing that a process short of memory could delay.
[[nodiscard]] std::vector<pid_t> pids_of(const Tree& tree);

/// Whether /proc/PID/fd/N leads to a pipe, a socket or a device, as its text says: to ask the file itself could wait
/// for one on a file system that hangs.
[[nodiscard]] bool leads_to_pipe_or_device(const std::string& link);

/// Those of the tree that a signal is for.
enum class Among : unsigned char { all, leaders_group };

/// Sends `signal` to every process of the tree; returns how many got it. Safe against pid reuse where the kernel has
/// pidfds: whether it belongs to the tree is asked again behind the pidfd before the signal is sent. So the reaper may
/// give numbers back meanwhile. Without pidfds it must not: reactor thread only.
std::size_t signal_tree(const Tree& tree, int signal, Among among = Among::all);

/// Whether a look in this thread has missed something since the last call, as no descriptor was left to be had.
[[nodiscard]] bool lacked_descriptors();

class ProcessLooks;

/// Ends the whole tree: SIGTERM, up to `grace` (0: none of that), then SIGKILL in passes until two passes one after the
/// other find nothing and the leader has been reaped. SIGCONT goes with SIGTERM, so that stopped processes act on it.
/// Returns true when it was verified that nothing is left, false if processes outlived `patience`, counted from the
/// first SIGKILL: those in uninterruptible sleep, or of another user whom the agent may not signal.
[[nodiscard]] Task<bool> end_tree(ProcessLooks* looks, Tree tree, std::chrono::milliseconds grace,
                                  std::chrono::milliseconds patience);

/// While it lives a few descriptors are kept back for the looks at processes that are made in the thread that made it,
/// so that a tree is found and ended also where no other descriptor is left. One at a time, in the reactor's thread:
/// there nobody else takes a descriptor between.
class LastDescriptors {
 public:
  LastDescriptors();
  ~LastDescriptors();
  LastDescriptors(const LastDescriptors&) = delete;
  LastDescriptors& operator=(const LastDescriptors&) = delete;
};

}  // namespace skiff::sessions
