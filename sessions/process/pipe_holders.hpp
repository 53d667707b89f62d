#pragma once

#include <sys/types.h>

#include <vector>

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

}  // namespace skiff::sessions
