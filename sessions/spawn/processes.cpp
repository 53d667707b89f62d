#include "sessions/spawn/processes.hpp"

#include <csignal>
#include <utility>

namespace skiff::sessions {

Task<std::expected<pid_t, SpawnFailure>> Processes::start(SpawnRequest request, Reaper::Handler ended,
                                                          std::shared_ptr<Leader> leader, AnnouncedSpawn* start,
                                                          bool alone) {
  const AnnouncedSpawn announced = reaper.begin_spawn();
  request.announced = announced;
  if (start != nullptr) *start = announced;
  auto pid = co_await spawner.spawn(std::move(request), alone);
  if (start != nullptr) *start = nullptr;
  if (pid) {
    reaper.conclude_spawn(announced, *pid, std::move(ended), std::move(leader));
  } else {
    reaper.conclude_spawn(announced);
  }
  co_return pid;
}

void give_up_start(const AnnouncedSpawn& start) {
  pid_t pid = 0;
  // The pid cannot be reused: the process is not reaped before its start is concluded, on this thread.
  if (!start->compare_exchange_strong(pid, kGivenUp) && pid > 0) ::kill(pid, SIGKILL);
}

}  // namespace skiff::sessions
