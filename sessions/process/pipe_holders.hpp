#pragma once

#include <sys/types.h>

#include <cstddef>
#include <vector>

#include "base/async/blocking_pool.hpp"
#include "base/async/task.hpp"
#include "sessions/process/process_tree.hpp"

namespace skiff::sessions {

// Finds the processes that can still write to a pipe, by the links in /proc/PID/fd. Do not call these functions on the
// reactor. Each looks at a bounded number of descriptors, because processes can have millions.

/// The processes of `pids_of(tree)` that hold the writing end of a pipe whose st_ino is in `inodes`. A process that was
/// not looked at in full counts as a holder.
[[nodiscard]] std::vector<pid_t> holders_of(const Tree& tree, const std::vector<ino_t>& inodes);

/// All other processes that hold such an end, except this one and `known`. The highest pids come first, because a
/// process that left a tree is young. Without CAP_SYS_PTRACE the kernel hides the descriptors of undumpable processes
/// and of other users' (proc_pid_fd(5)), so these are not found.
[[nodiscard]] std::vector<pid_t> other_holders_of(const std::vector<ino_t>& inodes, const std::vector<pid_t>& known);

/// Scans all processes for holders, one scan after the other, on a thread of its own. Reactor thread only.
class HolderLooks {
 public:
  /// Returns what `other_holders_of` finds. It returns nothing when 8 scans wait already, so that no command's end is
  /// late.
  [[nodiscard]] Task<std::vector<pid_t>> others(std::vector<ino_t> inodes, std::vector<pid_t> known);

 private:
  static constexpr std::size_t kMost = 8;

  BlockingPool thread_{"skiff-holders", 1};
  std::size_t looks_ = 0;  ///< scans that run or wait for their turn
};

}  // namespace skiff::sessions
