#pragma once

#include <sys/types.h>

#include <vector>

#include "sessions/process/process_tree.hpp"

namespace skiff::sessions {

// Who could still write to a pipe, by the links in /proc/PID/fd. Both read /proc: not for the reactor. Each looks at so
// many descriptors at most; processes can have millions.

/// Those of `pids_of(tree)` that hold an end for writing of a pipe whose st_ino is one of `inodes`. One that was not
/// looked at in full counts as well: it is alive, and may.
[[nodiscard]] std::vector<pid_t> holders_of(const Tree& tree, const std::vector<ino_t>& inodes);

/// All other processes that do, but for this one and `known`: those with the highest numbers first, as what has left a
/// tree is young. Of a process that another user owns, or that can't be dumped, the kernel shows no descriptors without
/// CAP_SYS_PTRACE (proc_pid_fd(5)): it is not found.
[[nodiscard]] std::vector<pid_t> other_holders_of(const std::vector<ino_t>& inodes, const std::vector<pid_t>& known);

}  // namespace skiff::sessions
