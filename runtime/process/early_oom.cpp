#include "runtime/process/early_oom.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/log/log.hpp"
#include "base/scope_counter.hpp"

namespace skiff::runtime {
namespace {

constexpr std::chrono::milliseconds kBeforeGuarding{50};

}  // namespace

EarlyOom::EarlyOom(sessions::Supervisor& supervisor, const sessions::Registry& registry, unsigned percent)
    : supervisor_{supervisor},
      registry_{registry},
      is_on_{percent > 0},
      guard_{supervisor.executor,
             supervisor.processes.ending.thread(),
             sessions::MemoryGauge{},
             {.percent = std::max(1U, percent)},
             [this](sessions::MemoryUse) { supervisor_.tasks.spawn("memory guard", end_largest_command()); }},
      start_{supervisor.executor, [this] {
               if (supervisor_.live.count() > 0) guard_.start();
             }} {}

void EarlyOom::live_changed() {
  if (!is_on_) return;
  if (supervisor_.live.count() > 0) {
    start_.expires_after(kBeforeGuarding);
  } else {
    start_.clear();
    guard_.stop();
  }
}

Task<> EarlyOom::end_largest_command() {
  if (const auto still = ending_.lock(); looks_ > 0 || (still && !still->over())) co_return;
  std::vector<std::shared_ptr<sessions::Command>> live;
  std::vector<sessions::Tree> trees;
  for (const auto& session : registry_.sessions()) {
    for (const auto& command : session->commands()) {
      if (command->over()) continue;
      live.push_back(command);
      trees.push_back(command->tree());
    }
  }
  auto look = [&trees] { return sessions::memory_of_each(trees); };
  const ScopeCounter looking{looks_};
  const std::vector<std::uint64_t> used = co_await supervisor_.processes.ending.run(std::move(look));
  std::shared_ptr<sessions::Command> largest;
  std::uint64_t most = 0;
  for (std::size_t i = 0; i < live.size(); ++i) {
    if (live[i]->over() || (largest && used[i] <= most)) continue;
    largest = live[i];
    most = used[i];
  }
  if (!largest) co_return;
  log::warning("memory is nearly used up: ending the largest command",
               {{"session", largest->session()}, {"command", largest->id()}, {"rss_bytes", most}});
  ending_ = largest;
  largest->end(sessions::Cause::oom_guard);
}

}  // namespace skiff::runtime
