#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/task.hpp"
#include "container/process/spawn.hpp"

namespace skiff::container {

/// A process on this machine that is nobody's child here. Pids are used again, so it is known by when it began, too.
struct HostProcess {
  pid_t pid = 0;                    ///< 0: none
  std::uint64_t started_ticks = 0;  ///< since boot (proc(5), field 22 of /proc/PID/stat)
  std::string boot;                 ///< /proc/sys/kernel/random/boot_id

  bool operator==(const HostProcess&) const = default;
};

/// Which boot of the machine this is.
[[nodiscard]] std::string boot_id();

/// The process that has this pid now; nothing if none has, or it has ended and was not yet waited for.
[[nodiscard]] std::optional<HostProcess> find_process(pid_t pid);

/// Whether this very process still runs.
[[nodiscard]] bool is_alive(const HostProcess& process);

/// Processes whose command line holds `word` as one of its arguments (with zero bytes in it: several that follow each
/// other), ended ones not.
[[nodiscard]] std::vector<HostProcess> processes_with_argument(std::string_view word);

/// Processes that were started with `variable` (NAME=VALUE) in their environment, as far as it may be read.
[[nodiscard]] std::vector<HostProcess> processes_with_variable(std::string_view variable);

/// Starts a program that outlives this one.
[[nodiscard]] Result<HostProcess> start_daemon(const Spawn& daemon);

/// Asks it to end (SIGTERM), ends it after `grace` (SIGKILL), and waits until it is gone. Zero: at once. `timeout` if
/// even that does not help, which happens to a process that hangs in the kernel. From here on the caller can't be
/// cancelled: an end that was begun is finished.
[[nodiscard]] Task<Result<>> end_process(HostProcess process, std::chrono::milliseconds grace);

}  // namespace skiff::container
