#pragma once

#include <linux/filter.h>

namespace skiff::sessions {

/// A seccomp filter (seccomp(2)) that refuses, with EPERM, system calls that change the limits, priority or scheduling
/// of another process. For these calls the kernel checks only the user, which a command may share with the agent. A
/// filter does not know a process's own id, so it allows only 0 for "this process": a program that passes its own id,
/// or that of one of its threads, is refused, too. Calls of 32-bit programs are filtered alike; calls of other
/// architectures fail with ENOSYS. The filter is built at compile time, because the code that installs it may not
/// allocate.
extern const sock_fprog kCallFilter;

}  // namespace skiff::sessions
