#include "sessions/start_process.hpp"

#include <chrono>
#include <csignal>
#include <utility>

#include "sessions/supervisor.hpp"

namespace skiff::sessions {

Task<std::expected<pid_t, SpawnFailure>> start_process(Supervisor* supervisor, SpawnRequest request,
                                                       Reaper::Handler ended, std::shared_ptr<Leader> leader,
                                                       AnnouncedSpawn* start) {
  const auto asked = std::chrono::steady_clock::now();
  const AnnouncedSpawn announced = supervisor->reaper.begin_spawn();
  request.announced = announced;
  if (start != nullptr) *start = announced;
  auto pid = co_await supervisor->spawner.spawn(std::move(request), supervisor->live == 1);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - asked;
  supervisor->counts.spawn[0].observe(took.count());
  if (start != nullptr) *start = nullptr;
  if (pid) {
    supervisor->reaper.conclude_spawn(announced, *pid, std::move(ended), std::move(leader));
  } else {
    supervisor->reaper.conclude_spawn(announced);
  }
  co_return pid;
}

void give_up_start(const AnnouncedSpawn& start) {
  pid_t pid = 0;
  // The process is not reaped before `conclude_spawn`, on this thread, so the pid is still its own.
  if (!start->compare_exchange_strong(pid, kGivenUp) && pid > 0) ::kill(pid, SIGKILL);
}

}  // namespace skiff::sessions
