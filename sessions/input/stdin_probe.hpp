#pragma once

#include <sys/types.h>

#include "sessions/process/process_tree.hpp"

namespace skiff::sessions {

/// Whether a process of the tree is blocked reading the pipe or terminal whose st_ino is `inode`: in read(2) or
/// readv(2), or in poll(2) or select(2) on this descriptor only. A hint from /proc/PID/syscall (proc(5)); false if the
/// kernel or the container denies that file. Makes one pass over /proc.
[[nodiscard]] bool waits_for_input(const Tree& tree, ino_t inode);

}  // namespace skiff::sessions
