#pragma once

#include <sys/resource.h>

#include <string_view>

#include "base/error.hpp"

namespace skiff::runtime {

/// What the agent changed about itself and its commands must get back.
struct InheritedLimits {
  rlimit open_files{};  ///< RLIMIT_NOFILE as it was at start
};

/// First thing in `main`, before threads: a process of the same uid can no longer read the agent's memory, environment
/// or descriptors, nor trace it (PR_SET_DUMPABLE 0); descriptors 0 to 2 are open (on /dev/null if they were closed),
/// what else was inherited is close-on-exec; SIGPIPE is ignored, and so are SIGXFSZ and SIGXCPU, which a process of the
/// same uid could bring about by prlimit(2); the soft limit of open files is raised to the hard one.
[[nodiscard]] Result<InheritedLimits> defend_process();

/// Removes a variable and overwrites its value, which is what /proc/PID/environ shows. Views into it see zeros.
void wipe_environment(const char* variable);

}  // namespace skiff::runtime
