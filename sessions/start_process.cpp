#include "sessions/start_process.hpp"

#include <chrono>
#include <csignal>
#include <optional>
#include <string>
#include <utility>

#include "sessions/supervisor.hpp"

namespace skiff::sessions {

Task<std::expected<StartedProcess, SpawnFailure>> start_process(Supervisor* supervisor, SpawnRequest request,
                                                                Reaper::Handler ended, std::shared_ptr<Leader> leader,
                                                                AnnouncedSpawn* start) {
  const auto asked = std::chrono::steady_clock::now();
  const auto observe = [&] {
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - asked;
    supervisor->counts.spawn[0].observe(took.count());
  };
  // What hangs is looked up by the process itself.
  const std::string places = request.shell ? request.cwd + ':' + request.argv.front() : std::string{};
  bool local = request.shell && supervisor->spawner.knows_local(places);
  if (request.shell && !local && supervisor->limits.warm_shells > 0) {
    local = co_await supervisor->spawner.find_local(places);
  }
  if (const auto pid = request.shell && !local ? std::nullopt : supervisor->warm_shells.start(request, ended, leader)) {
    observe();
    ++supervisor->counts.warm_starts[0];
    co_return StartedProcess{.pid = *pid, .is_warm = true};
  }
  const AnnouncedSpawn announced = supervisor->reaper.begin_spawn();
  request.announced = announced;
  if (start != nullptr) *start = announced;
  auto pid = co_await supervisor->spawner.spawn(std::move(request), supervisor->live == 1);
  observe();
  if (start != nullptr) *start = nullptr;
  if (!pid) {
    supervisor->reaper.conclude_spawn(announced);
    co_return std::unexpected{std::move(pid.error())};
  }
  supervisor->reaper.conclude_spawn(announced, *pid, std::move(ended), std::move(leader));
  co_return StartedProcess{.pid = *pid};
}

void give_up_start(const AnnouncedSpawn& start) {
  pid_t pid = 0;
  // Until its start is concluded, on this thread, nobody reaps it: the number is its own.
  if (!start->compare_exchange_strong(pid, kGivenUp) && pid > 0) ::kill(pid, SIGKILL);
}

}  // namespace skiff::sessions
