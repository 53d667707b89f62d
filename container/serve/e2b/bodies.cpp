#include "container/serve/e2b/bodies.hpp"

#include <string_view>
#include <utility>

#include "base/clock.hpp"
#include "container/serve/fleet/record_labels.hpp"

namespace skiff::container::serve::e2b {
namespace {

using nlohmann::json;

/// SDKs do not use features that came after this version of envd, so they use only what the agent supports.
constexpr std::string_view kEnvdVersion = "0.6.4";
constexpr std::string_view kClient = "skiff";
/// The end of a lease without an end.
constexpr std::string_view kNever = "9999-12-31T23:59:59Z";

std::string text_of(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

json common(const Sandbox& sandbox) {
  return {{"sandboxID", sandbox.name},
          {"templateID", own_label(sandbox, kTemplateLabel)},
          {"clientID", kClient},
          {"envdVersion", kEnvdVersion}};
}

void add(json& value, const Reached& how) {
  const auto text_or_null = [](const std::string& token) { return token.empty() ? json{} : json(token); };
  value["domain"] = how.domain;
  value["envdAccessToken"] = text_or_null(how.access_token);
  value["trafficAccessToken"] = text_or_null(how.traffic_token);
}

}  // namespace

std::string reached_json(const Sandbox& sandbox, const Reached& how) {
  json value = common(sandbox);
  add(value, how);
  return text_of(value);
}

std::string sandbox_json(const Sandbox& sandbox, Size size, const Reached* how) {
  json value = common(sandbox);
  value["startedAt"] = sandbox.created_at;
  const bool sleeps = is_asleep(sandbox);
  value["endAt"] = sandbox.expires_at ? *sandbox.expires_at : sleeps ? sandbox.created_at : std::string{kNever};
  value["state"] = sleeps ? "paused" : "running";
  value["cpuCount"] = size.cpus;
  value["memoryMB"] = size.memory_mb;
  value["diskSizeMB"] = size.disk_mb;
  value["metadata"] = client_labels(sandbox.labels);
  if (how != nullptr) add(value, *how);
  return text_of(value);
}

Result<std::string> metric_json(const std::string& answer) {
  const auto said = json::parse(answer, nullptr, /*allow_exceptions=*/false);
  const auto number = [&said](const char* name) {
    const auto found = said.find(name);
    return found != said.end() && found->is_number() ? *found : json(0);
  };
  if (!said.is_object()) return fail(Errc::bad_gateway, "the agent's report about itself is not an object");
  const WallTime now = wall_now();
  return text_of({{"timestamp", rfc3339(now)},
                  {"timestampUnix", std::chrono::floor<std::chrono::seconds>(now.time_since_epoch()).count()},
                  {"cpuCount", number("cpu_count")},
                  {"cpuUsedPct", number("cpu_used_pct")},
                  {"memUsed", number("mem_used")},
                  {"memTotal", number("mem_total")},
                  {"memCache", number("mem_cache")},
                  {"diskUsed", number("disk_used")},
                  {"diskTotal", number("disk_total")}});
}

std::string logs_json(const std::vector<LogEntry>& entries, bool lines) {
  json structured = json::array();
  json plain = json::array();
  for (const LogEntry& one : entries) {
    const std::string time = rfc3339(WallTime{std::chrono::milliseconds{one.time}});
    if (lines) plain.push_back({{"timestamp", time}, {"line", one.message}});
    structured.push_back(
        {{"timestamp", time}, {"message", one.message}, {"level", log_level_word(one.level)}, {"fields", one.fields}});
  }
  json document;
  document[lines ? "logEntries" : "logs"] = std::move(structured);
  if (lines) document["logs"] = std::move(plain);
  return text_of(document);
}

}  // namespace skiff::container::serve::e2b
