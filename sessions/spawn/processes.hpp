#pragma once

#include <sys/types.h>

#include <cstddef>
#include <expected>
#include <memory>
#include <string>

#include "base/async/task.hpp"
#include "sessions/process/command_group.hpp"
#include "sessions/process/pipe_holders.hpp"
#include "sessions/process/process_looks.hpp"
#include "sessions/process/process_tree.hpp"
#include "sessions/spawn/reaper.hpp"
#include "sessions/spawn/spawn.hpp"

namespace skiff::sessions {

/// The objects with which commands and the workload start, inspect and end processes. Reactor thread only.
struct Processes {
  /// `cgroup` is where commands with limits get a cgroup: see `CgroupHome`.
  Processes(Executor executor, const std::string& cgroup, std::size_t spawn_threads)
      : cgroups{cgroup}, spawner{spawn_threads}, reaper{executor} {}

  /// Starts a process and registers it with the reaper. Returns its pid, or the stage at which it failed. `ended` is
  /// called once, later, on the reactor. `leader` owns the pid; may be null. Cancellation does not interrupt the start.
  /// `start` is set while the process is being created, for `give_up_start`; null, or it must outlive the call.
  /// `alone`: see `Spawner::spawn`.
  [[nodiscard]] Task<std::expected<pid_t, SpawnFailure>> start(SpawnRequest request, Reaper::Handler ended,
                                                               std::shared_ptr<Leader> leader = nullptr,
                                                               AnnouncedSpawn* start = nullptr, bool alone = false);

  CgroupHome cgroups;
  LastDescriptors last_descriptors;
  ProcessLooks ending{"skiff-ending"};  ///< for ending commands, and the files of cgroups
  ProcessLooks looks{"skiff-looks"};    ///< for clients' queries
  HolderLooks holders;
  Spawner spawner;
  Reaper reaper;
};

/// Gives a start up: one that has not begun fails with ECANCELED; one that hangs in exec is killed, and counts as
/// started. Repeat it until `Processes::start` returns, because the start may be between the two.
void give_up_start(const AnnouncedSpawn& start);

}  // namespace skiff::sessions
