#include "runtime/api/openapi/answer_schemas.hpp"

#include <algorithm>
#include <utility>

#include "runtime/api/agent/telemetry_routes.hpp"
#include "runtime/api/answers/command_answer.hpp"
#include "runtime/api/commands/wait_answer.hpp"
#include "runtime/api/files/entry_members.hpp"
#include "runtime/api/sessions/session_routes.hpp"

namespace skiff::runtime::api {
namespace {

using protocol::SchemaRef;

std::string page_of(const std::string& schema) {
  return object({{"items", list_of(schema)}, {"next_cursor", kText, false}});
}

std::vector<Member> command() {
  return with_exit(command_answer().members(), false);
}

}  // namespace

SchemaRef status_schema() {
  return {.name = "Status", .json = object({{"status", kText}, {"egress", kText, false}})};
}

SchemaRef ports_schema() {
  return {.name = "Ports", .json = page_of(port_answer().named_schema())};
}

SchemaRef session_list_schema() {
  return {.name = "SessionList", .json = page_of(session_answer().named_schema())};
}

SchemaRef process_list_schema() {
  return {.name = "ProcessList", .json = page_of(process_answer().named_schema())};
}

SchemaRef command_schema() {
  return {.name = "Command", .json = object(command())};
}

SchemaRef command_list_schema() {
  return {.name = "CommandList", .json = page_of(named("Command", object(command())))};
}

SchemaRef file_entry_schema() {
  return {.name = "FileEntry", .json = object(entry_members())};
}

SchemaRef edited_file_schema() {
  return {.name = "EditedFile", .json = object(edited_members())};
}

SchemaRef file_list_schema() {
  const std::string item = named("FileEntry", object(entry_members()));
  return {.name = "FileList",
          .json = object({{"items", list_of(item)},
                          {"next_cursor", kText, false, "Cursor of the next page; absent on the last one"},
                          {"unreadable", kCount, false, "Directories of this page that could not be read"},
                          {"too_deep", kFlag, false, "true: some entries are deeper than 256 levels"}})};
}

SchemaRef file_results_schema() {
  const std::string item = named("FileResult", object(entry_result_members()));
  return {.name = "FileResults", .json = object({{"items", list_of(item)}})};
}

SchemaRef started_schema() {
  std::vector<Member> members = result_members();
  for (Member& member : command()) {
    if (std::ranges::find(members, member.name, &Member::name) == members.end()) members.push_back(std::move(member));
  }
  for (Member& member : members)
    member.always = member.name == "id" || member.name == "state" || member.name == "started_at";
  return {.name = "StartedCommand",
          .json = object(members, "A CommandResult with the mode wait, a Command with the mode background.")};
}

}  // namespace skiff::runtime::api
