#pragma once

#include <sys/resource.h>

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>

#include "base/async/blocking_pool.hpp"
#include "base/async/task_group.hpp"
#include "sessions/counts.hpp"
#include "sessions/host/oom_kills.hpp"
#include "sessions/live_commands.hpp"
#include "sessions/output/shared_output.hpp"
#include "sessions/retention.hpp"
#include "sessions/spawn/processes.hpp"
#include "sessions/spawn/users.hpp"

namespace skiff::sessions {

/// Bounds and times that hold for every command; the settings of these names describe them.
struct SupervisorLimits {
  std::size_t live_commands = 512;
  std::size_t ended_commands = 1000;
  std::chrono::milliseconds ended_ttl{std::chrono::hours{1}};
  std::chrono::milliseconds kill_grace{2000};
  std::chrono::milliseconds kill_patience{5000};
  std::chrono::milliseconds session_grace{10'000};  ///< longest grace of the commands of a deleted session
  std::chrono::milliseconds exit_drain{150};
  std::size_t keep_bytes = std::size_t{8} << 20U;
  std::size_t sessions = 1000;
  std::size_t remembered_ids = 100'000;
  std::chrono::milliseconds remember_ids_for{std::chrono::hours{24}};
  std::string cgroup = "none";  ///< where commands with limits get a cgroup (see `CgroupHome`)
  rlim_t open_files = 1024;     ///< soft RLIMIT_NOFILE of commands: the agent's own may have been raised
};

/// The objects that all commands share, and the owner of their coroutines. Reactor thread only.
struct Supervisor {
  Supervisor(Executor on, BlockingPool& disk_pool, BlockingPool& long_work_pool, SupervisorLimits bounds,
             OutputBudget::Limits output_limits, std::size_t spawn_threads)
      : executor{on},
        disk{disk_pool},
        long_work{long_work_pool},
        limits{std::move(bounds)},
        processes{on, limits.cgroup, spawn_threads},
        output{.budget = {on, disk_pool, std::move(output_limits)}, .pump_turns{on}, .reader_turns{on}},
        retention{on, limits.ended_commands, limits.ended_ttl},
        tasks{on},
        current_user{processes.spawner.threads(), tasks},
        live{limits.live_commands} {}

  Executor executor;
  BlockingPool& disk;
  BlockingPool& long_work;  ///< for work that may take long
  SupervisorLimits limits;
  Processes processes;
  SharedOutput output;
  Retention retention;
  TaskGroup tasks;
  CurrentUser current_user;  ///< the user of commands that name none
  OomKills oom_kills;
  LiveCommands live;
  Counts counts;
};

}  // namespace skiff::sessions
