#include "runtime/agent.hpp"

#include <algorithm>
#include <csignal>
#include <utility>

#include "base/async/deliberate_wait.hpp"
#include "base/id.hpp"
#include "base/log/log.hpp"
#include "runtime/api/route.hpp"
#include "runtime/dialects/dialect.hpp"
#include "runtime/mcp/clients.hpp"

namespace skiff::runtime {
namespace {

sessions::SupervisorLimits supervisor_limits(const Settings& settings, const InheritedLimits& inherited) {
  return {.live_commands = settings.max_commands,
          .ended_commands = settings.max_ended_commands,
          .ended_ttl = settings.ended_command_ttl,
          .kill_grace = settings.kill_grace,
          .session_grace = settings.drain_timeout,
          .exit_drain = settings.exit_drain,
          .keep_bytes = settings.keep_bytes,
          .sessions = settings.max_sessions,
          .remembered_ids = settings.idempotency_ids,
          .remember_ids_for = settings.idempotency_window,
          .cgroup = settings.cgroup,
          .open_files = inherited.open_files.rlim_cur};
}

sessions::OutputBudget::Limits output_limits(const Settings& settings) {
  return {.memory_bytes = settings.output_memory,
          .spool = settings.data_dir,
          .spool_bytes = settings.spool_bytes,
          .lossless_patience = settings.write_timeout};
}

constexpr std::chrono::milliseconds kBeforeGuarding{50};

/// Keeps `now` true while it lives.
class Looking {
 public:
  explicit Looking(bool& now) : now_{now} { now_ = true; }
  ~Looking() { now_ = false; }
  Looking(const Looking&) = delete;
  Looking& operator=(const Looking&) = delete;

 private:
  bool& now_;
};

/// Searches and archives that run at a time; further ones wait their turn. Up to `kTransfers` more may have begun and
/// wait for their clients, each on a thread.
constexpr std::size_t kSearchThreads = 4;
constexpr std::size_t kTransfers = 60;

/// Channels of all WebSockets together; each takes some kilobytes.
constexpr std::size_t kChannels = 8'192;

constexpr std::size_t kLongWorkThreads = 4;
constexpr std::size_t kWatchThreads = 2;
/// Calls that may wait for a name that another call is changing.
constexpr std::size_t kWaitsForNames = 32;
/// Large answers composed at a time: each takes a few dozen megabytes until it is complete.
constexpr std::size_t kLargeAnswers = 4;

std::vector<std::string> names_in_metrics(const std::vector<std::string_view>& spoken) {
  std::vector<std::string> names;
  for (const std::string_view dialect : spoken) names.push_back(dialects::identity_name(dialect));
  return names;
}

}  // namespace

Agent::Agent(Executor on, Settings with, Authenticator who, BrowserGuard browsers, const InheritedLimits& inherited,
             std::vector<std::string_view> spoken)
    : executor{on},
      settings{std::move(with)},
      instance{new_id("i-")},
      authenticator{std::move(who)},
      browser_guard{std::move(browsers)},
      dialects{std::move(spoken)},
      requests{api::routes(), names_in_metrics(dialects)},
      activity{on, [this](std::string_view why) { stop(EndCause::lease, why); }},
      received{settings.max_received_bytes},
      channels{kChannels},
      transfers{kTransfers},
      large_answers{on, kLargeAnswers, kLargeAnswers / 2},
      composed_answers{on, kLargeAnswers, kLargeAnswers},
      disk{"skiff-disk", settings.disk_threads, kWaitsForNames},
      long_work{"skiff-long", kLongWorkThreads, kWaitsForNames},
      search{"skiff-search", kSearchThreads, kTransfers},
      watching{"skiff-watch", kWatchThreads},
      watches{on, watching, {}},
      listening_tcp{on, disk},
      pattern_thread{on},
      supervisor{
          on, disk, long_work, supervisor_limits(settings, inherited), output_limits(settings), settings.spawn_threads},
      registry{supervisor,
               {.root = settings.root,
                .shell = settings.shell,
                .inherited = sessions::inheritable_environment(settings.env_deny),
                .may_switch_user = !settings.allow_unauthenticated}},
      memory_guard{on,
                   supervisor.processes.ending.thread(),
                   sessions::MemoryGauge{},
                   {.percent = static_cast<unsigned>(std::max<std::uint64_t>(1, settings.memory_guard_percent))},
                   [this](sessions::MemoryUse) { supervisor.tasks.spawn("memory guard", end_largest_command()); }},
      drain_begun{on},
      mcp{std::make_shared<mcp::Clients>(on)},
      stop_asked_{on},
      guard_start_{on, [this] {
                     if (supervisor.live.count() > 0) memory_guard.start();
                   }} {
  supervisor.live.changed = [this] { live_changed(); };
  supervisor.live.before_start = [this]() -> Result<> {
    if (keep_limits().lost.empty()) return {};
    return skiff::fail(Errc::draining, "the agent is stopping and takes no new work");
  };
  if (settings.ttl.count() > 0) activity.lease(settings.ttl);
  if (settings.idle_ttl.count() > 0) activity.idle_limit(settings.idle_ttl);
}

void Agent::live_changed() {
  const bool some = supervisor.live.count() > 0;
  if (some) {
    activity.begin();
  } else {
    activity.end();
  }
  if (settings.memory_guard_percent == 0) return;
  if (some) {
    guard_start_.expires_after(kBeforeGuarding);
  } else {
    guard_start_.clear();
    memory_guard.stop();
  }
}

Task<> Agent::end_largest_command() {
  if (const auto still = guarded_.lock(); guard_looks_ || (still && !still->over())) co_return;
  std::vector<std::shared_ptr<sessions::Command>> live;
  std::vector<sessions::Tree> trees;
  for (const auto& session : registry.sessions()) {
    for (const auto& command : session->commands()) {
      if (command->over()) continue;
      live.push_back(command);
      trees.push_back(command->tree());
    }
  }
  auto look = [&trees] { return sessions::memory_of_each(trees); };
  const Looking looking{guard_looks_};
  const std::vector<std::uint64_t> used = co_await supervisor.processes.ending.run(std::move(look));
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
  guarded_ = largest;
  largest->end(sessions::Cause::oom_guard);
}

void Agent::kill_everything() const {
  for (const auto& session : registry.all()) {
    for (const auto& command : session->commands()) command->kill(sessions::Cause::shutdown);
  }
}

bool Agent::stop(EndCause cause, std::string_view why) {
  if (std::exchange(stopping_, true)) return false;
  cause_ = cause;
  why_ = why;
  log::warning("stopping: ending all commands",
               {{"cause", word_of(cause)}, {"why", why}, {"live", supervisor.live.count()}});
  stop_asked_.notify_all();
  return true;
}

void Agent::fail(std::string_view why) {
  if (std::exchange(failed_, true)) return;
  stop(EndCause::failure, why);
  // Set the cause also while the agent stops for another reason: it may be unable to finish that in order.
  cause_ = EndCause::failure;
  why_ = why;
  // Flush now: the process may end before the log's thread runs.
  const DeliberateWait wait;
  log::flush();
}

OwnLimits::Kept Agent::keep_limits() {
  const OwnLimits::Kept kept = own_limits_.keep();
  if (kept.restored) {
    log::warning("restored the agent's resource limits, which another process had lowered");
  }
  if (!kept.lost.empty()) {
    fail(std::string{kept.lost} + " of the agent was lowered by another process and cannot be restored");
  }
  return kept;
}

Task<> Agent::stop_asked() {
  while (!stopping_) co_await stop_asked_.wait();
}

Task<> Agent::drain() {
  draining = true;
  drain_begun.notify_all();
  co_await watches.close();
  co_await registry.drain();
  // Clients that wait for a command have got its exit by now.
  co_await mcp->close();
}

}  // namespace skiff::runtime
