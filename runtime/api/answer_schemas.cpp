#include "runtime/api/answer_schemas.hpp"

#include "protocol/json_text.hpp"
#include "protocol/schema.hpp"
#include "runtime/api/requests.hpp"
#include "sessions/counts.hpp"

namespace skiff::runtime::api {
namespace {

using protocol::SchemaRef;

/// A member of an object; `always`: it is never left out.
struct Member {
  std::string_view name;
  std::string schema;
  bool always = true;
};

const std::string kText = R"({"type":"string"})";
const std::string kCount = R"({"type":"integer","minimum":0})";
const std::string kFlag = R"({"type":"boolean"})";
const std::string kTime = R"({"type":"string","format":"date-time"})";
const std::string kId = R"({"type":"string","pattern":"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"})";
const std::string kTexts = R"({"type":"array","items":{"type":"string"}})";
const std::string kLabels = R"({"type":"object","additionalProperties":{"type":"string"}})";

std::string or_null(const std::string& schema) {
  return R"({"anyOf":[)" + schema + R"(,{"type":"null"}]})";
}

std::string one_of(std::initializer_list<std::string_view> words) {
  std::string text{R"({"type":"string","enum":[)"};
  for (const std::string_view word : words) {
    if (!text.ends_with('[')) text += ',';
    protocol::append_json_string(text, word);
  }
  return text + "]}";
}

std::string constant(std::string_view word) {
  return one_of({word});
}

std::string list_of(const std::string& schema) {
  return R"({"type":"array","items":)" + schema + '}';
}

std::string object(const std::vector<Member>& members) {
  std::string text{R"({"type":"object","properties":{)"};
  std::string required;
  for (const Member& member : members) {
    protocol::append_json_key(text, member.name);
    text += member.schema;
    if (!member.always) continue;
    if (!required.empty()) required += ',';
    protocol::append_json_string(required, member.name);
  }
  text += '}';
  if (!required.empty()) text += R"(,"required":[)" + required + ']';
  return text + '}';
}

std::string page_of(const std::string& schema) {
  return object({{"items", list_of(schema)}, {"next_cursor", kText, false}});
}

std::string per_stream(const std::string& schema) {
  return object({{"stdout", schema}, {"stderr", schema}});
}

std::string causes() {
  std::string text{R"({"type":"string","enum":[)"};
  for (std::size_t i = 0; i < sessions::Counts::kCauses; ++i) {
    if (i > 0) text += ',';
    protocol::append_json_string(text, name(static_cast<sessions::Cause>(i)));
  }
  return text + "]}";
}

/// How a command ended; `always` where it has.
std::vector<Member> with_exit(std::vector<Member> members, bool always) {
  const std::string usage = object({{"wall_us", kCount},
                                    {"user_us", kCount},
                                    {"system_us", kCount},
                                    {"max_rss_bytes", kCount},
                                    {"voluntary_switches", kCount},
                                    {"involuntary_switches", kCount},
                                    {"read_bytes", kCount},
                                    {"write_bytes", kCount}});
  const std::vector<Member> exit{{"exit_code", or_null(R"({"type":"integer"})"), always},
                                 {"signal", or_null(kText), always},
                                 {"cause", causes(), always},
                                 {"core_dumped", kFlag, false},
                                 {"output_complete", kFlag, always},
                                 {"background", list_of(R"({"type":"integer"})"), false},
                                 {"kill_level", kText, false},
                                 {"error", object({{"stage", kText}, {"errno", kText}, {"message", kText}}), false},
                                 {"ended_at", kTime, always},
                                 {"duration_ms", kCount, always},
                                 {"usage", usage, always}};
  members.insert(members.end(), exit.begin(), exit.end());
  return members;
}

const std::string& states() {
  static const std::string text = one_of({"starting", "running", "ended"});
  return text;
}

std::string lease() {
  return object({{"ttl_ms", or_null(kCount)}, {"expires_at", or_null(kTime)}, {"idle_ttl_ms", or_null(kCount)}});
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

SchemaRef event_schema() {
  const std::vector<std::string> kinds{
      object({{"type", constant("started")},
              {"id", kId},
              {"session", kId},
              {"pid", kCount, false},
              {"instance", kId},
              {"started_at", kTime}}),
      object({{"type", constant("output")},
              {"offset", kCount},
              {"next", kCount},
              {"stream", one_of({"stdout", "stderr"})},
              {"time", kTime},
              {"late", kFlag, false},
              {"data", kText, false},
              {"data_base64", kText, false}}),
      object({{"type", constant("gap")}, {"from", kCount}, {"to", kCount}}),
      object(with_exit({{"type", constant("exit")}}, true)),
      object({{"type", constant("end")}, {"bytes", per_stream(kCount)}, {"sha256", per_stream(kText), false}}),
      object({{"type", constant("keepalive")}}),
      object({{"type", constant("error")}, {"code", kText}, {"detail", kText}, {"field", kText, false}})};
  std::string text{R"({"oneOf":[)"};
  for (const std::string& kind : kinds) {
    if (!text.ends_with('[')) text += ',';
    text += kind;
  }
  return {.name = "Event", .json = text + "]}"};
}

}  // namespace skiff::runtime::api
