#include "runtime/api/openapi/answer_schemas.hpp"

#include "runtime/api/openapi/event_schemas.hpp"

namespace skiff::runtime::api {
namespace {

using protocol::SchemaRef;

std::string page_of(const std::string& schema) {
  return object({{"items", list_of(schema)}, {"next_cursor", kText, false}});
}

const std::string& states() {
  static const std::string text = one_of({"starting", "running", "ended"});
  return text;
}

std::string lease() {
  return object({{"ttl_ms", or_null(kCount)}, {"expires_at", or_null(kTime)}, {"idle_ttl_ms", or_null(kCount)}});
}

/// Each with its value and by what it is enforced.
std::string enforced_limits() {
  return R"({"type":"object","additionalProperties":)" + object({{"value", kCount}, {"by", kText}}) + '}';
}

std::string command() {
  return object(with_exit(
      {{"id", kId},
       {"session", kId},
       {"pid", kCount, false},
       {"state", states()},
       {"command", kText, false},
       {"argv", kTexts, false},
       {"started_at", kTime},
       {"tty", kFlag},
       {"stdin", object({{"open", kFlag}, {"offset", kCount}})},
       {"output",
        object({{"first_kept", kCount}, {"next_offset", kCount}, {"bytes", per_stream(kCount)}, {"ended", kFlag}})},
       {"limits", enforced_limits(), false},
       {"hints", object({{"waiting_for_input", kFlag, false}}), false}},
      false));
}

std::string result() {
  return object(with_exit({{"id", kId},
                           {"state", states()},
                           {"stdout", kText},
                           {"stderr", kText},
                           {"stdout_base64", kText, false},
                           {"stderr_base64", kText, false},
                           {"omitted_bytes", per_stream(kCount)},
                           {"truncated", kFlag},
                           {"next", kCount},
                           {"limits", enforced_limits(), false},
                           {"started_at", kTime}},
                          false));
}

std::string session() {
  return object({{"id", kId},
                 {"root", kText},
                 {"cwd", kText},
                 {"created_at", kTime},
                 {"env", R"({"type":"object","additionalProperties":{"type":["string","null"]}})"},
                 {"secret_env", kTexts},
                 {"env_inherit", kFlag},
                 {"user", kText, false},
                 {"shell", object({{"path", kText}, {"login", kFlag}, {"stateful", kFlag}})},
                 {"labels", kLabels},
                 {"idle_timeout_ms", kCount, false},
                 {"default_timeout_ms", kCount, false},
                 {"limits", R"({"type":"object","additionalProperties":{"type":"integer"}})"},
                 {"isolation", kText},
                 {"commands", object({{"live", kCount}, {"kept", kCount}})}});
}

}  // namespace

SchemaRef introduction_schema() {
  return {.name = "Introduction",
          .json = object({{"name", kText},
                          {"version", kText},
                          {"summary", kText},
                          {"openapi", kText},
                          {"needs_token", kFlag},
                          {"send", kText, false}})};
}

SchemaRef status_schema() {
  return {.name = "Status", .json = object({{"status", kText}})};
}

SchemaRef version_schema() {
  return {.name = "Version",
          .json = object({{"name", kText},
                          {"version", kText},
                          {"api", kText},
                          {"instance", kId},
                          {"sandbox_id", kText},
                          {"labels", kLabels}})};
}

SchemaRef capabilities_schema() {
  const std::string kernel = object({{"pidfd", kFlag},
                                     {"close_range", kFlag},
                                     {"clone3", kFlag},
                                     {"openat2", kFlag},
                                     {"landlock_abi", R"({"type":"integer"})"}});
  return {.name = "Capabilities",
          .json = object({{"kernel", kernel},
                          {"isolation", kTexts},
                          {"kill", object({{"level", kText}, {"daemons", kFlag}})},
                          {"limits", R"({"type":"object"})"},
                          {"command_limits", kTexts},
                          {"session_shells", object({{"stateful", kFlag}})},
                          {"subprotocols", kTexts},
                          {"dialects", kTexts}})};
}

SchemaRef stats_schema() {
  const std::string number = or_null(kCount);
  const std::string disk = object({{"path", kText},
                                   {"total_bytes", number},
                                   {"available_bytes", number},
                                   {"total_inodes", number},
                                   {"available_inodes", number}});
  return {
      .name = "Stats",
      .json = object(
          {{"uptime_ms", kCount},
           {"cgroup_version", number},
           {"cpu",
            object({{"cores", kCount}, {"limit_millis", number}, {"used_ms", number}, {"throttled_ms", number}})},
           {"memory",
            object({{"used_bytes", number}, {"limit_bytes", number}, {"peak_bytes", number}, {"oom_kills", number}})},
           {"pids", object({{"used", number}, {"limit", number}})},
           {"disk", list_of(disk)},
           {"agent", object({{"cpu_ms", kCount}, {"rss_bytes", kCount}, {"open_files", kCount}})},
           {"commands", object({{"live", kCount}, {"limit", kCount}})},
           {"output", object({{"memory_bytes", kCount}, {"spool_bytes", kCount}})}})};
}

SchemaRef ports_schema() {
  return {.name = "Ports",
          .json = page_of(object({{"port", kCount},
                                  {"address", kText},
                                  {"uid", kCount},
                                  {"pid", or_null(kCount)},
                                  {"process", kText, false},
                                  {"session", kId, false},
                                  {"command", kId, false}}))};
}

SchemaRef activity_schema() {
  return {.name = "Activity",
          .json = object({{"in_use", kFlag},
                          {"last_used_at", kTime},
                          {"idle_ms", kCount},
                          {"live_commands", kCount},
                          {"open_connections", kCount},
                          {"open_websockets", kCount},
                          {"lease", lease()}})};
}

SchemaRef init_schema() {
  return {.name = "InitAnswer", .json = object({{"setup", or_null(result())}, {"lease", lease()}})};
}

SchemaRef lease_schema() {
  return {.name = "LeaseAnswer", .json = object({{"lease", lease()}})};
}

SchemaRef session_schema() {
  return {.name = "Session", .json = session()};
}

SchemaRef session_list_schema() {
  return {.name = "SessionList", .json = page_of(session())};
}

SchemaRef process_list_schema() {
  return {.name = "ProcessList",
          .json = page_of(object({{"command", kId},
                                  {"pid", kCount},
                                  {"parent", kCount},
                                  {"group", kCount},
                                  {"state", kText},
                                  {"name", kText},
                                  {"command_line", kText},
                                  {"rss_bytes", kCount}}))};
}

SchemaRef wait_schema() {
  return {.name = "WaitAnswer",
          .json = object({{"met", kFlag},
                          {"reason", one_of({"ended", "timeout", "shutdown"}), false},
                          {"match", kText, false},
                          {"next", kCount, false}})};
}

SchemaRef command_schema() {
  return {.name = "Command", .json = command()};
}

SchemaRef command_list_schema() {
  return {.name = "CommandList", .json = page_of(command())};
}

SchemaRef result_schema() {
  return {.name = "CommandResult", .json = result()};
}

}  // namespace skiff::runtime::api
