#pragma once

#include <sys/resource.h>

#include <string_view>

#include "base/error.hpp"

namespace skiff::runtime {

/// Limits that the agent changed for itself, and restores for its commands.
struct InheritedLimits {
  rlimit open_files{};  ///< RLIMIT_NOFILE at the start
};

/// Protects this process; call it first in `main`, before there are threads. Processes of the same uid can then no
/// longer read its memory, environment or descriptors, nor trace it (PR_SET_DUMPABLE 0). Descriptors 0 to 2 are open
/// (on /dev/null if they were closed), and all other inherited ones are close-on-exec. SIGPIPE is ignored, and so are
/// SIGXFSZ and SIGXCPU, which a process of the same uid could cause by prlimit(2). The soft limit on open files is
/// raised to the hard limit.
[[nodiscard]] Result<InheritedLimits> defend_process();

/// Removes a variable and overwrites its value with zeros, also in /proc/PID/environ.
void wipe_environment(const char* variable);

}  // namespace skiff::runtime
