#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/async/blocking_pool.hpp"
#include "base/async/task_group.hpp"
#include "base/error.hpp"
#include "sessions/counts.hpp"
#include "sessions/host/memory_guard.hpp"
#include "sessions/output/fair_scheduler.hpp"
#include "sessions/output/log.hpp"
#include "sessions/process/command_group.hpp"
#include "sessions/process/process_looks.hpp"
#include "sessions/process/process_tree.hpp"
#include "sessions/retention.hpp"
#include "sessions/spawn/reaper.hpp"
#include "sessions/spawn/spawn.hpp"
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

/// The objects that all commands share: spawn threads, the reaper, the output budget, and the owner of their
/// coroutines.
struct Supervisor {
  Supervisor(Executor on, BlockingPool& disk_pool, BlockingPool& long_work_pool, SupervisorLimits bounds,
             OutputBudget::Limits output, std::size_t spawn_threads)
      : executor{on},
        disk{disk_pool},
        long_work{long_work_pool},
        limits{std::move(bounds)},
        cgroups{limits.cgroup},
        spawner{spawn_threads},
        reaper{on},
        budget{on, disk_pool, std::move(output)},
        pump_turns{on},
        reader_turns{on},
        retention{on, limits.ended_commands, limits.ended_ttl},
        tasks{on} {}

  void begin_life() {
    if (live++ == 0 && live_changed) live_changed();
  }
  void end_life() {
    if (--live == 0 && live_changed) live_changed();
  }

  /// The agent's own user; commands without a user run as it. At most once a second it is looked up again in the
  /// background; no command waits for that.
  [[nodiscard]] std::shared_ptr<const Credentials> own_user() {
    if (!looking_at_user && std::chrono::steady_clock::now() - user_looked_at >= std::chrono::seconds{1}) {
      tasks.spawn("passwd", look_at_user(this));
    }
    return current_user.get();
  }
  [[nodiscard]] static Task<> look_at_user(Supervisor* self) {
    struct Looking {
      explicit Looking(Supervisor* by) : of{by} { of->looking_at_user = true; }
      ~Looking() {
        of->looking_at_user = false;
        of->user_looked_at = std::chrono::steady_clock::now();
      }
      Supervisor* of;
    };
    const Looking looking{self};
    auto look = [known = self->current_user]() mutable {
      known.look();
      return known;
    };
    self->current_user = co_await self->spawner.threads().run(std::move(look));
  }

  /// True when `now`, the kernel's count of OOM kills, has grown since the last call. Called when a command got a
  /// SIGKILL that the agent did not send.
  [[nodiscard]] bool out_of_memory(std::optional<std::uint64_t> now) {
    if (!now || *now <= oom_kills) return false;
    oom_kills = *now;
    return true;
  }

  /// Held while a command's end waits for a scan of all processes. Null when 8 commands do so already: the scan is then
  /// skipped, so that no end is late.
  [[nodiscard]] std::shared_ptr<void> look_for_holders() {
    if (holder_looks == kMostHolderLooks) return nullptr;
    ++holder_looks;
    return {this, [](Supervisor* self) { --self->holder_looks; }};
  }
  static constexpr std::size_t kMostHolderLooks = 8;

  Executor executor;
  BlockingPool& disk;
  BlockingPool& long_work;  ///< for work that may take long
  SupervisorLimits limits;
  CgroupHome cgroups;
  LastDescriptors last_descriptors;
  ProcessLooks ending{"skiff-ending"};       ///< for ending commands, and the files of cgroups
  ProcessLooks looks{"skiff-looks"};         ///< for clients' queries
  BlockingPool holders{"skiff-holders", 1};  ///< for scans of the descriptors of all processes
  std::size_t holder_looks = 0;              ///< scans that run or wait for their turn
  Spawner spawner;
  Reaper reaper;
  OutputBudget budget;
  Turns pump_turns;
  Turns reader_turns;
  Retention retention;
  TaskGroup tasks;
  MemoryGauge memory;
  CurrentUser current_user;
  SteadyTime user_looked_at = std::chrono::steady_clock::now();
  bool looking_at_user = false;
  std::uint64_t oom_kills = memory.oom_kills().value_or(0);  ///< at the last look
  Counts counts;
  std::size_t live = 0;                ///< commands that are starting or running, or whose pipes are still open
  std::function<void()> live_changed;  ///< called when `live` became 0 or is no longer 0; may be empty
  std::function<Result<>()>
      before_start;  ///< called before a command starts; its error refuses the command; may be empty
};

}  // namespace skiff::sessions
