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

/// How processes start, are looked at, and end: what the commands and the workload share. Reactor thread only.
struct Processes {
  /// `cgroup` says where commands with limits get a cgroup: see `CgroupHome`.
  Processes(Executor executor, const std::string& cgroup, std::size_t spawn_threads)
      : cgroups{cgroup}, spawner{spawn_threads}, reaper{executor} {}

  /// Starts a process and tells the reaper. Returns its pid, or at which stage it failed; `ended` is called once, from
  /// the reactor, later, and `leader` says whose the pid is; may be null. Cancellation does not interrupt it. `start`
  /// is set while a process is being made, for `give_up_start`; may be null, else outlives the call. `alone`: see
  /// `Spawner::spawn`.
  [[nodiscard]] Task<std::expected<pid_t, SpawnFailure>> start(SpawnRequest request, Reaper::Handler ended,
                                                               std::shared_ptr<Leader> leader = nullptr,
                                                               AnnouncedSpawn* start = nullptr, bool alone = false);

  CgroupHome cgroups;
  LastDescriptors last_descriptors;
  ProcessLooks ending{"skiff-ending"};  ///< for what ends commands, and the files of cgroups
  ProcessLooks looks{"skiff-looks"};    ///< for what clients ask to see
  HolderLooks holders;
  Spawner spawner;
  Reaper reaper;
};

/// A start that has not begun fails with ECANCELED; one that hangs in exec is killed, and counts as started. To be
/// repeated until `Processes::start` returns: it may be just between the two.
void give_up_start(const AnnouncedSpawn& start);

}  // namespace skiff::sessions
