#include "runtime/api/agent/telemetry_routes.hpp"

#include <algorithm>
#include <limits>

#include "base/log/log.hpp"
#include "protocol/http/server/server.hpp"
#include "runtime/api/agent/init.hpp"
#include "runtime/process/process_stats.hpp"
#include "sessions/host/ports.hpp"
#include "sessions/host/stats.hpp"

namespace skiff::runtime::api {

/// Statistics that are read on a pool thread, because that may block.
struct StatsNow {
  struct Disk {
    std::string_view path;
    std::optional<sessions::DiskStats> stats;
  };
  const Agent& agent;
  sessions::ContainerStats container;
  std::vector<Disk> disks;
};

/// A port and the command that owns it.
struct PortNow {
  const sessions::ListeningPort& port;
  std::optional<Id> session;
  std::optional<Id> command;
};

namespace {

using sessions::ContainerStats;
using Number = OrNull<std::uint64_t>;

Number as_ms(std::optional<std::uint64_t> us) {
  return {us ? std::optional{*us / 1000} : std::nullopt};
}

std::uint64_t milliseconds_of(std::chrono::nanoseconds time) {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(time).count());
}

const Answer<ContainerStats::Cpu>& cpu_answer() {
  using Cpu = ContainerStats::Cpu;
  static const Answer<Cpu> answer{"CpuStats",
                                  {{"cores", [](const Cpu& cpu) { return cpu.cores; }},
                                   {"limit_millis", [](const Cpu& cpu) { return Number{cpu.limit_millis}; }},
                                   {"used_ms", [](const Cpu& cpu) { return as_ms(cpu.used_us); }},
                                   {"throttled_ms", [](const Cpu& cpu) { return as_ms(cpu.throttled_us); }}}};
  return answer;
}

const Answer<ContainerStats::Memory>& memory_answer() {
  using Memory = ContainerStats::Memory;
  static const Answer<Memory> answer{"MemoryStats",
                                     {{"used_bytes", [](const Memory& memory) { return Number{memory.used_bytes}; }},
                                      {"limit_bytes", [](const Memory& memory) { return Number{memory.limit_bytes}; }},
                                      {"peak_bytes", [](const Memory& memory) { return Number{memory.peak_bytes}; }},
                                      {"oom_kills", [](const Memory& memory) { return Number{memory.oom_kills}; }}}};
  return answer;
}

const Answer<ContainerStats::Pids>& pids_answer() {
  using Pids = ContainerStats::Pids;
  static const Answer<Pids> answer{"PidStats",
                                   {{"used", [](const Pids& pids) { return Number{pids.used}; }},
                                    {"limit", [](const Pids& pids) { return Number{pids.limit}; }}}};
  return answer;
}

template <std::uint64_t sessions::DiskStats::* member>
Number of_disk(const StatsNow::Disk& disk) {
  return {disk.stats ? std::optional{(*disk.stats).*member} : std::nullopt};
}

const Answer<StatsNow::Disk>& disk_answer() {
  using Disk = StatsNow::Disk;
  using sessions::DiskStats;
  static const Answer<Disk> answer{
      "DiskStats",
      {{"path", [](const Disk& disk) { return disk.path; }},
       {"total_bytes", [](const Disk& disk) { return of_disk<&DiskStats::total_bytes>(disk); }},
       {"available_bytes", [](const Disk& disk) { return of_disk<&DiskStats::available_bytes>(disk); }},
       {"total_inodes", [](const Disk& disk) { return of_disk<&DiskStats::total_inodes>(disk); }},
       {"available_inodes", [](const Disk& disk) { return of_disk<&DiskStats::available_inodes>(disk); }}}};
  return answer;
}

const Answer<Agent>& own_answer() {
  static const Answer<Agent> answer{
      "AgentStats",
      {{"cpu_ms", [](const Agent&) { return static_cast<std::uint64_t>(cpu_seconds() * 1000); }},
       {"rss_bytes", [](const Agent&) { return std::uint64_t{resident_bytes()}; }},
       {"open_files", [](const Agent&) { return std::uint64_t{open_files()}; }}}};
  return answer;
}

const Answer<Agent>& commands_answer() {
  static const Answer<Agent> answer{"CommandStats",
                                    {{"live", [](const Agent& agent) { return agent.supervisor.live.count(); }},
                                     {"limit", [](const Agent& agent) { return agent.settings.max_commands; }}}};
  return answer;
}

const Answer<Agent>& output_answer() {
  static const Answer<Agent> answer{
      "OutputStats",
      {{"memory_bytes", [](const Agent& agent) { return agent.supervisor.output.budget.memory_used(); }},
       {"spool_bytes", [](const Agent& agent) { return agent.supervisor.output.budget.spool_used(); }}}};
  return answer;
}

/// The tag of a command's processes.
struct Marked {
  sessions::Tag tag;
  std::string session;
  std::string command;
};

std::vector<Marked> live_tags(const Agent& agent) {
  std::vector<Marked> tags;
  for (const auto& session : agent.registry.sessions()) {
    for (const auto& command : session->commands()) {
      if (!command->over()) tags.push_back({command->tree().tag, session->id(), command->id()});
    }
  }
  return tags;
}

/// The command that owns the port; null: none.
const Marked* owner_of(const sessions::ListeningPort& port, const std::vector<Marked>& tags) {
  const auto mark = port.pid ? sessions::mark_of(*port.pid) : std::nullopt;
  if (!mark) return nullptr;
  const auto owner = std::ranges::find_if(tags, [&](const Marked& one) { return sessions::belongs(*mark, one.tag); });
  return owner == tags.end() ? nullptr : &*owner;
}

double count(std::size_t value) {
  return static_cast<double>(value);
}

}  // namespace

Task<Result<>> show_metrics(Call& call) {
  const Agent& agent = call.agent;
  const MetricsTable table =
      metrics_table({.requests = agent.requests,
                     .commands = agent.supervisor.counts,
                     .output = agent.supervisor.output.budget.counts(),
                     .live_commands = [&] { return count(agent.supervisor.live.count()); },
                     .sessions = [&] { return count(agent.registry.sessions().size()); },
                     .connections = [&] { return count(agent.connections.server->connections()); },
                     .websockets = [&] { return count(agent.connections.websockets); },
                     .output_memory = [&] { return count(agent.supervisor.output.budget.memory_used()); },
                     .output_spool = [&] { return count(agent.supervisor.output.budget.spool_used()); },
                     .audit_lost =
                         [&] {
                           return agent.access.audit ? static_cast<double>(agent.access.audit->lost())
                                                     : std::numeric_limits<double>::quiet_NaN();
                         },
                     .log_lost = [] { return static_cast<double>(log::lost()); },
                     .draining = [&] { return agent.shutdown.draining() ? 1.0 : 0.0; }});
  protocol::HttpResponse response{200, {{"Content-Type", MetricsTable::kContentType}}, table.text()};
  co_return co_await call.http.respond(std::move(response));
}

Task<Result<>> show_stats(Call& call) {
  const Settings& settings = call.agent.settings;
  auto look = [&call, &settings] {
    StatsNow now{.agent = call.agent,
                 .container = sessions::read_container_stats(),
                 .disks = {{.path = settings.root, .stats = sessions::read_disk_stats(settings.root)}}};
    if (!settings.data_dir.empty())
      now.disks.push_back({settings.data_dir, sessions::read_disk_stats(settings.data_dir)});
    return now;
  };
  const StatsNow now = co_await call.agent.pools.disk.run(std::move(look));
  co_return co_await call.json(200, stats_answer().text(now));
}

Task<Result<>> list_ports(Call& call) {
  auto look = [] { return sessions::listening_ports(); };
  const auto ports = co_await call.agent.pools.long_work.run(std::move(look));
  const auto tags = live_tags(call.agent);
  std::string text{R"({"items":[)"};
  for (const auto& port : ports) {
    const Marked* owner = owner_of(port, tags);
    // A credential for one session sees the ports of that session only.
    if (call.identity.session && (owner == nullptr || !require_session(call.identity, owner->session))) continue;
    PortNow one{.port = port, .session = {}, .command = {}};
    if (owner != nullptr) {
      one.session = Id{owner->session};
      one.command = Id{owner->command};
    }
    if (text.back() != '[') text += ',';
    port_answer().append(text, one);
  }
  text += "]}";
  co_return co_await call.json(200, std::move(text));
}

Task<Result<>> show_activity(Call& call) {
  co_return co_await call.json(200, activity_answer().text(call.agent));
}

const Answer<StatsNow>& stats_answer() {
  static const Answer<StatsNow> answer{
      "Stats",
      {{"uptime_ms",
        [](const StatsNow& now) { return milliseconds_of(std::chrono::steady_clock::now() - now.agent.started); }},
       {"cgroup_version",
        [](const StatsNow& now) {
          const auto version = now.container.cgroup_version;
          return Number{version ? std::optional{static_cast<std::uint64_t>(*version)} : std::nullopt};
        }},
       {"cpu", [](const StatsNow& now) { return Part<&cpu_answer>{now.container.cpu}; }},
       {"memory", [](const StatsNow& now) { return Part<&memory_answer>{now.container.memory}; }},
       {"pids", [](const StatsNow& now) { return Part<&pids_answer>{now.container.pids}; }},
       {"disk", [](const StatsNow& now) { return parts<&disk_answer>(now.disks); }},
       {"agent", [](const StatsNow& now) { return Part<&own_answer>{now.agent}; }},
       {"commands", [](const StatsNow& now) { return Part<&commands_answer>{now.agent}; }},
       {"output", [](const StatsNow& now) { return Part<&output_answer>{now.agent}; }}}};
  return answer;
}

const Answer<PortNow>& port_answer() {
  static const Answer<PortNow> answer{
      "Port",
      {{"port", [](const PortNow& now) { return now.port.port; }},
       {"address", [](const PortNow& now) { return std::string_view{now.port.address}; }},
       {"uid", [](const PortNow& now) { return now.port.uid; }},
       {"pid",
        [](const PortNow& now) {
          return Number{now.port.pid ? std::optional{static_cast<std::uint64_t>(*now.port.pid)} : std::nullopt};
        }},
       {"process",
        [](const PortNow& now) -> std::optional<std::string_view> {
          if (now.port.process.empty()) return std::nullopt;
          return now.port.process;
        }},
       {"session", [](const PortNow& now) { return now.session; }},
       {"command", [](const PortNow& now) { return now.command; }}}};
  return answer;
}

const Answer<Agent>& activity_answer() {
  static const Answer<Agent> answer{
      "Activity",
      {{"in_use", [](const Agent& agent) { return agent.activity.in_use(); }},
       {"last_used_at", [](const Agent& agent) { return agent.activity.last_used(); }},
       {"idle_ms", [](const Agent& agent) { return milliseconds_of(agent.activity.idle_for()); }},
       {"live_commands", [](const Agent& agent) { return agent.supervisor.live.count(); }},
       {"open_connections", [](const Agent& agent) { return agent.connections.server->connections(); }},
       {"open_websockets", [](const Agent& agent) { return agent.connections.websockets; }},
       {"lease", [](const Agent& agent) { return Part<&lease_answer>{agent.activity}; }}}};
  return answer;
}

}  // namespace skiff::runtime::api
