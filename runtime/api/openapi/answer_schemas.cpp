#include "runtime/api/openapi/answer_schemas.hpp"

#include <algorithm>
#include <utility>

#include "runtime/api/openapi/event_schemas.hpp"

namespace skiff::runtime::api {
namespace {

using protocol::SchemaRef;

std::string page_of(const std::string& schema) {
  return object({{"items", list_of(schema)}, {"next_cursor", kText, false}});
}

const std::string& states() {
  static const std::string text = named("CommandState", one_of({"starting", "running", "ended"}));
  return text;
}

std::string lease() {
  return named("Lease",
               object({{"ttl_ms", or_null(kCount)}, {"expires_at", or_null(kTime)}, {"idle_ttl_ms", or_null(kCount)}}));
}

/// Each with its value and by what it is enforced.
std::string enforced_limits() {
  return R"({"type":"object","additionalProperties":)" +
         named("EnforcedLimit", object({{"value", kCount}, {"by", kText}})) + '}';
}

std::vector<Member> command() {
  const std::string output =
      object({{"first_kept", kCount}, {"next_offset", kCount}, {"bytes", bytes_per_stream()}, {"ended", kFlag}});
  return with_exit({{"id", kId},
                    {"session", kId},
                    {"pid", kCount, false},
                    {"state", states()},
                    {"command", kText, false},
                    {"argv", kTexts, false},
                    {"started_at", kTime},
                    {"tty", kFlag},
                    {"stdin", named("StdinState", object({{"open", kFlag}, {"offset", kCount}}))},
                    {"output", named("OutputState", output)},
                    {"limits", enforced_limits(), false},
                    {"hints", named("CommandHints", object({{"waiting_for_input", kFlag, false}})), false}},
                   false);
}

std::vector<Member> result() {
  return with_exit({{"id", kId},
                    {"state", states()},
                    {"stdout", kText},
                    {"stderr", kText},
                    {"stdout_base64", kText, false},
                    {"stderr_base64", kText, false},
                    {"omitted_bytes", bytes_per_stream()},
                    {"truncated", kFlag},
                    {"next", kCount},
                    {"limits", enforced_limits(), false},
                    {"started_at", kTime}},
                   false);
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
                 {"shell", named("SessionShell", object({{"path", kText}, {"login", kFlag}, {"stateful", kFlag}}))},
                 {"labels", kLabels},
                 {"idle_timeout_ms", kCount, false},
                 {"default_timeout_ms", kCount, false},
                 {"limits", R"({"type":"object","additionalProperties":{"type":"integer"}})"},
                 {"isolation", kText},
                 {"commands", named("SessionCommands", object({{"live", kCount}, {"kept", kCount}}))}});
}

std::vector<Member> file_entry() {
  const std::string mode = R"({"type":"string","pattern":"^[0-7]{4}$"})";
  const std::string type =
      one_of({"file", "directory", "symlink", "fifo", "socket", "character_device", "block_device"});
  return {{"path", kText},
          {"path_base64", kText, false, "Of a path that is not UTF-8"},
          {"name", kText},
          {"name_base64", kText, false},
          {"type", named("FileType", type)},
          {"size", kCount},
          {"mode", mode},
          {"uid", kCount},
          {"gid", kCount},
          {"modified_at", kTime},
          {"target", kText, false, "Of a symbolic link"},
          {"target_base64", kText, false},
          {"etag", kText, false}};
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
  return {.name = "AgentVersion",
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
          .json = object({{"kernel", named("KernelFeatures", kernel)},
                          {"isolation", kTexts},
                          {"kill", named("KillLevel", object({{"level", kText}, {"daemons", kFlag}}))},
                          {"limits", R"({"type":"object"})"},
                          {"command_limits", kTexts},
                          {"session_shells", named("ShellFeatures", object({{"stateful", kFlag}}))},
                          {"subprotocols", kTexts},
                          {"dialects", kTexts}})};
}

SchemaRef stats_schema() {
  const std::string number = or_null(kCount);
  const std::string cpu =
      object({{"cores", kCount}, {"limit_millis", number}, {"used_ms", number}, {"throttled_ms", number}});
  const std::string memory =
      object({{"used_bytes", number}, {"limit_bytes", number}, {"peak_bytes", number}, {"oom_kills", number}});
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
           {"cpu", named("CpuStats", cpu)},
           {"memory", named("MemoryStats", memory)},
           {"pids", named("PidStats", object({{"used", number}, {"limit", number}}))},
           {"disk", list_of(named("DiskStats", disk))},
           {"agent", named("AgentStats", object({{"cpu_ms", kCount}, {"rss_bytes", kCount}, {"open_files", kCount}}))},
           {"commands", named("CommandStats", object({{"live", kCount}, {"limit", kCount}}))},
           {"output", named("OutputStats", object({{"memory_bytes", kCount}, {"spool_bytes", kCount}}))}})};
}

SchemaRef ports_schema() {
  return {.name = "Ports",
          .json = page_of(named("Port", object({{"port", kCount},
                                                {"address", kText},
                                                {"uid", kCount},
                                                {"pid", or_null(kCount)},
                                                {"process", kText, false},
                                                {"session", kId, false},
                                                {"command", kId, false}})))};
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
  const std::string setup = or_null(named("CommandResult", object(result())));
  return {.name = "InitAnswer", .json = object({{"setup", setup}, {"lease", lease()}})};
}

SchemaRef lease_schema() {
  return {.name = "LeaseAnswer", .json = object({{"lease", lease()}})};
}

SchemaRef session_schema() {
  return {.name = "Session", .json = session()};
}

SchemaRef session_list_schema() {
  return {.name = "SessionList", .json = page_of(named("Session", session()))};
}

SchemaRef process_list_schema() {
  return {.name = "ProcessList",
          .json = page_of(named("Process", object({{"command", kId},
                                                   {"pid", kCount},
                                                   {"parent", kCount},
                                                   {"group", kCount},
                                                   {"state", kText},
                                                   {"name", kText},
                                                   {"command_line", kText},
                                                   {"rss_bytes", kCount}})))};
}

SchemaRef wait_schema() {
  return {.name = "WaitAnswer",
          .json = object({{"met", kFlag},
                          {"reason", named("WaitReason", one_of({"ended", "timeout", "shutdown"})), false},
                          {"match", kText, false},
                          {"next", kCount, false}})};
}

SchemaRef command_schema() {
  return {.name = "Command", .json = object(command())};
}

SchemaRef command_list_schema() {
  return {.name = "CommandList", .json = page_of(named("Command", object(command())))};
}

SchemaRef result_schema() {
  return {.name = "CommandResult", .json = object(result())};
}

SchemaRef file_entry_schema() {
  return {.name = "FileEntry", .json = object(file_entry())};
}

SchemaRef file_list_schema() {
  return {.name = "FileList", .json = page_of(named("FileEntry", object(file_entry())))};
}

SchemaRef file_results_schema() {
  std::vector<Member> members = file_entry();
  for (Member& member : members) member.always = member.name == "path";
  members.push_back({"error", named("FileError", object({{"code", kText}, {"detail", kText}})), false});
  return {.name = "FileResults", .json = object({{"items", list_of(named("FileResult", object(members)))}})};
}

SchemaRef started_schema() {
  std::vector<Member> members = result();
  for (Member& member : command()) {
    if (std::ranges::find(members, member.name, &Member::name) == members.end()) members.push_back(std::move(member));
  }
  for (Member& member : members)
    member.always = member.name == "id" || member.name == "state" || member.name == "started_at";
  return {.name = "StartedCommand",
          .json = object(members, "A CommandResult with the mode wait, a Command with the mode background.")};
}

}  // namespace skiff::runtime::api
