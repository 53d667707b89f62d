#pragma once

#include <sys/types.h>

#include <expected>

#include "base/async/task.hpp"
#include "sessions/process/exit_status.hpp"
#include "sessions/spawn/reaper.hpp"
#include "sessions/spawn/spawn.hpp"

namespace skiff::sessions {

struct Supervisor;

/// Starts a process and tells the reaper. Returns its pid, or at which stage it failed; `ended` is called once, from
/// the reactor, later, and `leader` says whose the pid is; may be null. Reactor thread only; cancellation does not
/// interrupt it. `start` is set while a process is being made, for `give_up_start`; may be null, else outlives the
/// call.
[[nodiscard]] Task<std::expected<pid_t, SpawnFailure>> start_process(Supervisor* supervisor, SpawnRequest request,
                                                                     Reaper::Handler ended,
                                                                     std::shared_ptr<Leader> leader,
                                                                     AnnouncedSpawn* start = nullptr);

/// A start that has not begun fails with ECANCELED; one that hangs in exec is killed, and counts as started. To be
/// repeated until `start_process` returns: it may be just between the two.
void give_up_start(const AnnouncedSpawn& start);

}  // namespace skiff::sessions
