#pragma once

#include <sys/types.h>

#include <expected>

#include "base/async/task.hpp"
#include "sessions/process/exit_status.hpp"
#include "sessions/spawn/reaper.hpp"
#include "sessions/spawn/spawn.hpp"

namespace skiff::sessions {

struct Supervisor;

/// Starts a process and registers it with the reaper. Returns its pid, or the stage that failed. `ended` is called
/// once, later, on the reactor. `leader`, if not null, receives the pid. `start`, if not null, is set while the process
/// is being created, for `give_up_start`, and outlives the call. Reactor thread only; cancellation does not interrupt
/// the start.
[[nodiscard]] Task<std::expected<pid_t, SpawnFailure>> start_process(Supervisor* supervisor, SpawnRequest request,
                                                                     Reaper::Handler ended,
                                                                     std::shared_ptr<Leader> leader,
                                                                     AnnouncedSpawn* start = nullptr);

/// Gives a start up: one that has not begun fails with ECANCELED; one that hangs in exec is killed and counts as
/// started. Repeat it until `start_process` returns: the start may be between the two.
void give_up_start(const AnnouncedSpawn& start);

}  // namespace skiff::sessions
