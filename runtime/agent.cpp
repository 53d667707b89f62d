#include "runtime/agent.hpp"

#include <utility>

#include "base/id.hpp"
#include "base/log/log.hpp"
#include "protocol/net/trust/program_trust.hpp"
#include "runtime/api/route.hpp"
#include "runtime/dialects/dialect.hpp"

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

std::vector<std::string> names_in_metrics(const std::vector<std::string_view>& spoken) {
  std::vector<std::string> names;
  for (const std::string_view dialect : spoken) names.push_back(dialects::identity_name(dialect));
  return names;
}

}  // namespace

sessions::Variables environment_below(const Settings& settings, const std::vector<std::string>& deny) {
  sessions::Variables variables = sessions::inheritable_environment(deny);
  if (!settings.egress.empty()) egress::set_variables(variables);
  if (!settings.egress_trust.empty()) protocol::add_settings_variables(settings.egress_trust, variables);
  return variables;
}

Agent::Agent(Executor on, Settings with, Access who, const InheritedLimits& inherited,
             std::vector<std::string_view> spoken)
    : executor{on},
      settings{std::move(with)},
      instance{new_id("i-")},
      dialects{std::move(spoken)},
      access{std::move(who)},
      requests{api::routes(), names_in_metrics(dialects)},
      activity{on, [this](std::string_view why) { shutdown.ask(EndCause::lease, why); }},
      quotas{on, settings.max_received_bytes},
      pools{on, settings.disk_threads},
      watches{on, pools.watching, {}},
      listening_tcp{on, pools.disk},
      supervisor{on,
                 pools.disk,
                 pools.long_work,
                 supervisor_limits(settings, inherited),
                 output_limits(settings),
                 settings.spawn_threads},
      registry{supervisor,
               {.root = settings.root,
                .shell = settings.shell,
                .inherited = environment_below(settings, settings.env_deny),
                .may_switch_user = !settings.allow_unauthenticated}},
      code_contexts{on},
      shutdown{on, supervisor.live, settings.termination_log},
      early_oom_{supervisor, registry, static_cast<unsigned>(settings.memory_guard_percent)} {
  supervisor.live.changed = [this] {
    if (supervisor.live.count() > 0) {
      activity.begin();
    } else {
      activity.end();
    }
    early_oom_.live_changed();
  };
  supervisor.live.before_start = [this]() -> Result<> {
    if (!keep_limits().lost.empty()) return fail(Errc::draining, "the agent is stopping and takes no new work");
    return wait_for_fence();
  };
  if (settings.ttl.count() > 0) activity.lease(settings.ttl);
  if (settings.idle_ttl.count() > 0) activity.idle_limit(settings.idle_ttl);
}

void Agent::kill_everything() const {
  for (const auto& session : registry.all()) {
    for (const auto& command : session->commands()) command->kill(sessions::Cause::shutdown);
  }
}

OwnLimits::Kept Agent::keep_limits() {
  const OwnLimits::Kept kept = own_limits_.keep();
  if (kept.restored) {
    log::warning("restored the agent's resource limits, which another process had lowered");
  }
  if (!kept.lost.empty()) {
    shutdown.fail(std::string{kept.lost} + " of the agent was lowered by another process and cannot be restored");
  }
  return kept;
}

Result<> Agent::wait_for_fence() const {
  if (!fence || fence->state() != egress::Fence::State::waiting) return {};
  return fail(Errc::egress_waiting, fence->why());
}

Task<> Agent::drain() {
  shutdown.begin_drain();
  co_await watches.close();
  co_await registry.drain();
}

}  // namespace skiff::runtime
