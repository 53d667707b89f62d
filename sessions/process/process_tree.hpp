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
  /// The state of the pid. The reaper sets `changing` before it frees the pid and `free` afterwards. So a reader of
  /// `its_own` knows that the pid has been the leader's at all times before.
  enum class Number : unsigned char { its_own, changing, free };

  explicit Leader(pid_t of = 0, Number number_of = Number::its_own) : pid{of}, number{number_of} {}
  [[nodiscard]] bool reaped() const noexcept { return number.load() == Number::free; }

  std::atomic<pid_t> pid;  ///< 0: not started yet
  std::atomic<Number> number;
};

/// All processes of one command; any thread may use it. A process is a member if it has the tag, is the leader, is in
/// the leader's group or session, or is a child of a member: a process can remove its tag (a hard limit may be
/// lowered), but cannot leave its parents.
struct Tree {
  Tree(Tag of, std::shared_ptr<const Leader> first = nullptr) : tag{of}, leader{std::move(first)} {}
  Tag tag;
  std::shared_ptr<const Leader> leader;  ///< null: unknown
};

// The functions below read /proc. Call them on the thread of a `ProcessLooks`, not on the reactor.

/// Lists the live processes of the tree, including daemons but not zombies or the agent itself, in one pass over /proc.
[[nodiscard]] std::vector<ProcessInfo> processes_of(const Tree& tree);

/// Lists the live processes of several trees, in their order, in one pass; without the command lines.
[[nodiscard]] std::vector<std::vector<ProcessInfo>> processes_of_each(const std::vector<Tree>& trees);
/// Fills in the command lines. May block while a process that hangs in the kernel keeps its memory locked.
void read_command_lines(std::vector<ProcessInfo>& processes);

/// Lists the pids only; it reads nothing that a process short of memory could delay.
[[nodiscard]] std::vector<pid_t> pids_of(const Tree& tree);

/// Whether /proc/PID/fd/N leads to a pipe, a socket or a device, by the link's text: stat(2) could block on a file
/// system that hangs.
[[nodiscard]] bool leads_to_pipe_or_device(const std::string& link);

/// The processes of a tree that a signal is for.
enum class Among : unsigned char { all, leaders_group };

/// Sends `signal` to every process of the tree; returns how many got it. With pidfds it is safe against pid reuse,
/// because it checks the membership again after it opened the pidfd; so the reaper may free pids meanwhile. Without
/// pidfds the reaper must not: call it on the reactor thread only.
std::size_t signal_tree(const Tree& tree, int signal, Among among = Among::all);

/// Whether a scan in this thread has missed something since the last call, because descriptors or memory ran out.
[[nodiscard]] bool lacked_descriptors();

class ProcessLooks;

/// Ends the whole tree. It sends SIGTERM, with SIGCONT so that stopped processes act on it, and waits up to `grace`; it
/// skips both if `grace` is 0. Then it sends SIGKILL in passes until two passes in a row find nothing and the leader
/// has been reaped. Returns true when nothing is left. Returns false if processes outlived `patience`, counted from the
/// first SIGKILL: they are in uninterruptible sleep, or belong to a user that the agent may not signal.
[[nodiscard]] Task<bool> end_tree(ProcessLooks* looks, Tree tree, std::chrono::milliseconds grace,
                                  std::chrono::milliseconds patience);

/// Reserves a few descriptors, while it lives, for scans of processes in the thread that created it, so that a tree can
/// be found and ended when no other descriptor is left. Only one may exist, in the reactor's thread, where no other
/// code takes a descriptor in between.
class LastDescriptors {
 public:
  LastDescriptors();
  ~LastDescriptors();
  LastDescriptors(const LastDescriptors&) = delete;
  LastDescriptors& operator=(const LastDescriptors&) = delete;
};

}  // namespace skiff::sessions
