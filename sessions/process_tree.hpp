#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/task.hpp"
#include "sessions/tag.hpp"

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
struct Leader {
  pid_t pid = 0;
  bool reaped = false;  ///< from then on the number may come to mean another process
};

/// All processes of one command. A process can take its tag off (a hard limit may be lowered), but not leave its
/// parents: so it is also one of them that is the leader, is in the leader's group or session, or is a child of one of
/// them.
struct Tree {
  Tree(Tag of, std::shared_ptr<const Leader> first = nullptr) : tag{of}, leader{std::move(first)} {}
  Tag tag;
  std::shared_ptr<const Leader> leader;  ///< null: nothing is known of it
};

/// Every live process of the tree, daemons included, but never the agent itself; zombies are left out. One pass over
/// /proc.
[[nodiscard]] std::vector<ProcessInfo> processes_of(const Tree& tree);

/// Their pids alone: reads nothing that a process short of memory could delay.
[[nodiscard]] std::vector<pid_t> pids_of(const Tree& tree);

/// Those of `pids_of(tree)` that hold the pipe or terminal whose st_ino is one of `inodes`.
[[nodiscard]] std::vector<pid_t> holders_of(const Tree& tree, const std::vector<ino_t>& inodes);

/// Sends `signal` to every process of the tree; returns how many got it. Safe against pid reuse where the kernel has
/// pidfds: whether it belongs to the tree is asked again behind the pidfd before the signal is sent.
std::size_t signal_tree(const Tree& tree, int signal);

/// Ends the whole tree: SIGTERM, up to `grace` (0: none of that), then SIGKILL in passes until two passes one after the
/// other find nothing and the leader has been reaped. SIGCONT goes with SIGTERM, so that stopped processes act on it.
/// Returns true when it was verified that nothing is left, false if processes outlived `patience`, counted from the
/// first SIGKILL: those in uninterruptible sleep, or of another user whom the agent may not signal.
[[nodiscard]] Task<bool> end_tree(Tree tree, std::chrono::milliseconds grace, std::chrono::milliseconds patience);

/// While it lives a few descriptors are kept back for the looks at processes that are made here, so that a tree is
/// found and ended also where no other descriptor is left. One at a time; reactor thread only, as are `pids_of` and
/// `signal_tree` then.
class LastDescriptors {
 public:
  LastDescriptors();
  ~LastDescriptors();
  LastDescriptors(const LastDescriptors&) = delete;
  LastDescriptors& operator=(const LastDescriptors&) = delete;
};

}  // namespace skiff::sessions
