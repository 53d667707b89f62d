#include "sessions/start_process.hpp"

#include <chrono>
#include <utility>

#include "sessions/supervisor.hpp"

namespace skiff::sessions {

Task<std::expected<pid_t, SpawnFailure>> start_process(Supervisor* supervisor, SpawnRequest request,
                                                       Reaper::Handler ended) {
  const auto asked = std::chrono::steady_clock::now();
  const auto observe = [&] {
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - asked;
    supervisor->counts.spawn[0].observe(took.count());
  };
  if (const auto pid = supervisor->warm_shells.start(request, ended)) {
    observe();
    ++supervisor->counts.warm_starts[0];
    co_return *pid;
  }
  const AnnouncedSpawn announced = supervisor->reaper.begin_spawn();
  request.announced = announced;
  auto pid = co_await supervisor->spawner.spawn(std::move(request), supervisor->live == 1);
  observe();
  if (pid) {
    supervisor->reaper.conclude_spawn(announced, *pid, std::move(ended));
  } else {
    supervisor->reaper.conclude_spawn(announced);
  }
  co_return pid;
}

}  // namespace skiff::sessions
