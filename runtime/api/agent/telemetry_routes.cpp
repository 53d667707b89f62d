#include "runtime/api/agent/telemetry_routes.hpp"

#include <algorithm>
#include <limits>

#include "base/log.hpp"
#include "protocol/http/server.hpp"
#include "protocol/json/text.hpp"
#include "runtime/api/agent/init.hpp"
#include "runtime/process_stats.hpp"
#include "sessions/host/ports.hpp"
#include "sessions/host/stats.hpp"

namespace skiff::runtime::api {
namespace {

using protocol::append_json_integer;
using protocol::append_json_key;
using protocol::append_json_text;

void append_number_or_null(std::string& out, std::string_view key, std::optional<std::uint64_t> value) {
  append_json_key(out, key);
  if (value) {
    append_json_integer(out, *value);
  } else {
    out += "null";
  }
}

/// `"key":{`, what `members` appends, `}`.
template <class Members>
void append_object(std::string& out, std::string_view key, Members members) {
  append_json_key(out, key);
  out += '{';
  members();
  out += '}';
}

std::optional<std::uint64_t> as_ms(std::optional<std::uint64_t> us) {
  return us ? std::optional{*us / 1000} : std::nullopt;
}

/// What is looked up on a pool thread, for it may block.
struct Looked {
  sessions::ContainerStats container;
  std::optional<sessions::DiskStats> root;
  std::optional<sessions::DiskStats> data;
};

void append_disk(std::string& out, std::string_view path, const std::optional<sessions::DiskStats>& disk) {
  if (out.back() != '[') out += ',';
  out += '{';
  append_json_text(out, "path", path);
  const auto member = [&](std::string_view key, std::uint64_t sessions::DiskStats::* value) {
    append_number_or_null(out, key, disk ? std::optional{(*disk).*value} : std::nullopt);
  };
  member("total_bytes", &sessions::DiskStats::total_bytes);
  member("available_bytes", &sessions::DiskStats::available_bytes);
  member("total_inodes", &sessions::DiskStats::total_inodes);
  member("available_inodes", &sessions::DiskStats::available_inodes);
  out += '}';
}

void append_container(std::string& out, const sessions::ContainerStats& stats) {
  append_number_or_null(
      out, "cgroup_version",
      stats.cgroup_version ? std::optional<std::uint64_t>{static_cast<unsigned>(*stats.cgroup_version)} : std::nullopt);
  append_object(out, "cpu", [&] {
    append_number_or_null(out, "cores", std::uint64_t{stats.cpu.cores});
    append_number_or_null(out, "limit_millis", stats.cpu.limit_millis);
    append_number_or_null(out, "used_ms", as_ms(stats.cpu.used_us));
    append_number_or_null(out, "throttled_ms", as_ms(stats.cpu.throttled_us));
  });
  append_object(out, "memory", [&] {
    append_number_or_null(out, "used_bytes", stats.memory.used_bytes);
    append_number_or_null(out, "limit_bytes", stats.memory.limit_bytes);
    append_number_or_null(out, "peak_bytes", stats.memory.peak_bytes);
    append_number_or_null(out, "oom_kills", stats.memory.oom_kills);
  });
  append_object(out, "pids", [&] {
    append_number_or_null(out, "used", stats.pids.used);
    append_number_or_null(out, "limit", stats.pids.limit);
  });
}

/// A command's processes are known by their mark.
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

/// Whose it is; null: no command's.
const Marked* owner_of(const sessions::ListeningPort& port, const std::vector<Marked>& tags) {
  const auto mark = port.pid ? sessions::mark_of(*port.pid) : std::nullopt;
  if (!mark) return nullptr;
  const auto owner = std::ranges::find_if(tags, [&](const Marked& one) { return sessions::belongs(*mark, one.tag); });
  return owner == tags.end() ? nullptr : &*owner;
}

void append_port(std::string& out, const sessions::ListeningPort& port, const Marked* owner) {
  if (out.back() != '[') out += ',';
  out += '{';
  append_number_or_null(out, "port", std::uint64_t{port.port});
  append_json_text(out, "address", port.address);
  append_number_or_null(out, "uid", std::uint64_t{port.uid});
  append_number_or_null(out, "pid", port.pid ? std::optional{static_cast<std::uint64_t>(*port.pid)} : std::nullopt);
  if (!port.process.empty()) append_json_text(out, "process", port.process);
  if (owner != nullptr) {
    append_json_text(out, "session", owner->session);
    append_json_text(out, "command", owner->command);
  }
  out += '}';
}

double count(std::size_t value) {
  return static_cast<double>(value);
}

}  // namespace

Task<Result<>> show_metrics(Call& call) {
  const Agent& agent = call.agent;
  const MetricsTable table = metrics_table(
      {.requests = agent.requests,
       .commands = agent.supervisor.counts,
       .output = agent.supervisor.budget.counts(),
       .live_commands = [&] { return count(agent.supervisor.live); },
       .sessions = [&] { return count(agent.registry.sessions().size()); },
       .connections = [&] { return count(agent.server->connections()); },
       .websockets = [&] { return count(agent.websockets); },
       .output_memory = [&] { return count(agent.supervisor.budget.memory_used()); },
       .output_spool = [&] { return count(agent.supervisor.budget.spool_used()); },
       .audit_lost =
           [&] {
             return agent.audit ? static_cast<double>(agent.audit->lost()) : std::numeric_limits<double>::quiet_NaN();
           },
       .log_lost = [] { return static_cast<double>(log::lost()); },
       .draining = [&] { return agent.draining ? 1.0 : 0.0; }});
  protocol::HttpResponse response{200, {{"Content-Type", MetricsTable::kContentType}}, table.text()};
  co_return co_await call.http.respond(std::move(response));
}

Task<Result<>> show_stats(Call& call) {
  const Agent& agent = call.agent;
  const Settings& settings = agent.settings;
  auto look = [&settings] {
    Looked found{.container = sessions::read_container_stats(),
                 .root = sessions::read_disk_stats(settings.root),
                 .data = std::nullopt};
    if (!settings.data_dir.empty()) found.data = sessions::read_disk_stats(settings.data_dir);
    return found;
  };
  const Looked found = co_await call.agent.disk.run(std::move(look));
  std::string text{'{'};
  const auto up = std::chrono::steady_clock::now() - agent.started;
  append_number_or_null(text, "uptime_ms",
                        static_cast<std::uint64_t>(std::chrono::duration_cast<Activity::Milliseconds>(up).count()));
  append_container(text, found.container);
  append_json_key(text, "disk");
  text += '[';
  append_disk(text, settings.root, found.root);
  if (!settings.data_dir.empty()) append_disk(text, settings.data_dir, found.data);
  text += ']';
  append_object(text, "agent", [&] {
    append_number_or_null(text, "cpu_ms", static_cast<std::uint64_t>(cpu_seconds() * 1000));
    append_number_or_null(text, "rss_bytes", resident_bytes());
    append_number_or_null(text, "open_files", open_files());
  });
  append_object(text, "commands", [&] {
    append_number_or_null(text, "live", std::uint64_t{agent.supervisor.live});
    append_number_or_null(text, "limit", std::uint64_t{settings.max_commands});
  });
  append_object(text, "output", [&] {
    append_number_or_null(text, "memory_bytes", std::uint64_t{agent.supervisor.budget.memory_used()});
    append_number_or_null(text, "spool_bytes", agent.supervisor.budget.spool_used());
  });
  text += '}';
  co_return co_await call.json(200, std::move(text));
}

Task<Result<>> list_ports(Call& call) {
  auto look = [] { return sessions::listening_ports(); };
  const auto ports = co_await call.agent.long_work.run(std::move(look));
  const auto tags = live_tags(call.agent);
  std::string text{R"({"items":[)"};
  for (const auto& port : ports) {
    const Marked* owner = owner_of(port, tags);
    // Who is bound to a session is told of its own alone.
    if (call.identity.session && (owner == nullptr || !require_session(call.identity, owner->session))) continue;
    append_port(text, port, owner);
  }
  text += "]}";
  co_return co_await call.json(200, std::move(text));
}

Task<Result<>> show_activity(Call& call) {
  const Agent& agent = call.agent;
  std::string text{'{'};
  append_json_key(text, "in_use");
  text += agent.activity.in_use() ? "true" : "false";
  append_json_text(text, "last_used_at", rfc3339(agent.activity.last_used()));
  append_number_or_null(text, "idle_ms", static_cast<std::uint64_t>(agent.activity.idle_for().count()));
  append_number_or_null(text, "live_commands", std::uint64_t{agent.supervisor.live});
  append_number_or_null(text, "open_connections", std::uint64_t{agent.server->connections()});
  append_number_or_null(text, "open_websockets", std::uint64_t{agent.websockets});
  append_lease(text, agent.activity);
  text += '}';
  co_return co_await call.json(200, std::move(text));
}

}  // namespace skiff::runtime::api
