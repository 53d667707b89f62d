#pragma once

#include <linux/filter.h>

namespace skiff::sessions {

/// A seccomp filter (seccomp(2)) for what shares the agent's user: no system call that changes the limits, priority or
/// scheduling of another process (EPERM). The kernel asks only for the same user there, where it asks for more to
/// signal or trace. A filter can't tell a process's own id, so the calls have to say 0 for "this one": a program that
/// names itself, or a thread of its own, is refused as well. The calls of 32-bit programs are judged alike, those of
/// other kinds don't exist (ENOSYS). Made at compile time: what puts it on may not allocate.
extern const sock_fprog kCallFilter;

}  // namespace skiff::sessions
