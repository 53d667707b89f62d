#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "container/process/spawn.hpp"

namespace skiff::container {

/// A process on this machine that is not a child of this one. Pids are reused, so its start time identifies it, too.
struct HostProcess {
  pid_t pid = 0;                    ///< 0: none
  std::uint64_t started_ticks = 0;  ///< since boot (proc(5), field 22 of /proc/PID/stat)
  std::string boot;                 ///< /proc/sys/kernel/random/boot_id

  bool operator==(const HostProcess&) const = default;
};

/// Id of the current boot of the machine.
[[nodiscard]] std::string boot_id();

/// The process that has this pid now; nullopt if there is none, or if it has ended and was not waited for yet.
[[nodiscard]] std::optional<HostProcess> find_process(pid_t pid);

/// The process that has this pid now. If it has ended, the result has its pid and is not alive.
[[nodiscard]] HostProcess process_or_ended(pid_t pid);

/// True if this process, and not another with its pid, still runs.
[[nodiscard]] bool is_alive(const HostProcess& process);

/// Numbers of all processes, as /proc lists them.
[[nodiscard]] std::vector<pid_t> running_pids();

/// Running processes with `word` among their arguments. A `word` with zero bytes means several successive arguments.
[[nodiscard]] std::vector<HostProcess> processes_with_argument(std::string_view word);

/// Processes that were started with `variable` (NAME=VALUE) in their environment, as far as it may be read.
[[nodiscard]] std::vector<HostProcess> processes_with_variable(std::string_view variable);

/// Starts a program that outlives this one.
[[nodiscard]] Result<HostProcess> start_daemon(const Spawn& daemon);

/// Waits until a child of this process has ended, and returns its wait status (waitpid(2)); nullopt if it still runs
/// after `limit`.
[[nodiscard]] Task<std::optional<int>> child_end(HostProcess child, std::chrono::milliseconds limit);

/// Sends SIGTERM, then SIGKILL after `grace` (0: at once), and waits until the process has ended. `timeout` if it
/// survives SIGKILL because it hangs in the kernel. The call cannot be cancelled: it always completes.
[[nodiscard]] Task<Result<>> end_process(HostProcess process, std::chrono::milliseconds grace);

}  // namespace skiff::container
