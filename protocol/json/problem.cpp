#include "protocol/json/problem.hpp"

#include "protocol/json/text.hpp"
#include "protocol/json/utf8.hpp"

namespace skiff::protocol {
namespace {

struct Entry {
  unsigned status;
  std::string_view title;
};

// There is no `default`, so a new code does not compile without a line here.
Entry entry(Errc code) noexcept {
  switch (code) {
    case Errc::invalid_request:
      return {400, "The request makes no sense"};
    case Errc::invalid_field:
      return {400, "A field has a wrong value"};
    case Errc::unknown_field:
      return {400, "A field is not known"};
    case Errc::missing_field:
      return {400, "A required field is missing"};
    case Errc::malformed_json:
      return {400, "The body is not valid JSON"};
    case Errc::invalid_id:
      return {400, "The id has a wrong form"};
    case Errc::unauthenticated:
      return {401, "A valid credential is required"};
    case Errc::insufficient_scope:
      return {403, "The credential does not allow this"};
    case Errc::origin_not_allowed:
      return {403, "The origin is not allowed"};
    case Errc::host_not_allowed:
      return {421, "The host is not served here"};
    case Errc::not_found:
      return {404, "There is no such route"};
    case Errc::method_not_allowed:
      return {405, "The method is not allowed here"};
    case Errc::session_not_found:
      return {404, "There is no such session"};
    case Errc::session_conflict:
      return {409, "The session exists with other settings"};
    case Errc::session_is_stateful:
      return {409, "The session's shell keeps this itself"};
    case Errc::session_protected:
      return {409, "The session is protected"};
    case Errc::too_many_sessions:
      return {429, "There are too many sessions"};
    case Errc::command_not_found:
      return {404, "There is no such command"};
    case Errc::command_conflict:
      return {409, "The command id was used with other content"};
    case Errc::command_forgotten:
      return {410, "The command is no longer kept"};
    case Errc::command_ended:
      return {409, "The command has ended"};
    case Errc::instance_changed:
      return {409, "The agent was restarted"};
    case Errc::context_not_found:
      return {404, "There is no such context"};
    case Errc::too_many_contexts:
      return {429, "There are too many contexts"};
    case Errc::language_unavailable:
      return {422, "The language is not available here"};
    case Errc::too_many_commands:
      return {429, "There are too many commands"};
    case Errc::cannot_switch_user:
      return {403, "The user can't be switched"};
    case Errc::user_not_found:
      return {422, "There is no such user"};
    case Errc::limit_unavailable:
      return {422, "The limit can't be enforced here"};
    case Errc::isolation_unavailable:
      return {422, "The isolation is not available here"};
    case Errc::shell_unsuitable:
      return {422, "The shell can't be used so"};
    case Errc::not_supported:
      return {501, "This is not supported"};
    case Errc::stdin_closed:
      return {409, "The standard input is closed"};
    case Errc::stdin_offset_mismatch:
      return {409, "The standard input is at another offset"};
    case Errc::not_a_terminal:
      return {409, "The command has no terminal"};
    case Errc::unsupported_version:
      return {505, "The HTTP version is not supported"};
    case Errc::unsupported_media_type:
      return {415, "The content type is not supported"};
    case Errc::not_acceptable:
      return {406, "No acceptable form is available"};
    case Errc::payload_too_large:
      return {413, "The content is too large"};
    case Errc::malformed_archive:
      return {400, "The archive is not valid"};
    case Errc::headers_too_large:
      return {431, "The headers are too large"};
    case Errc::target_too_long:
      return {414, "The request target is too long"};
    case Errc::length_required:
      return {411, "A length is required"};
    case Errc::request_timeout:
      return {408, "The request took too long to arrive"};
    case Errc::expectation_failed:
      return {417, "The expectation can't be met"};
    case Errc::upgrade_required:
      return {426, "A WebSocket upgrade is required"};
    case Errc::too_many_connections:
      return {503, "There are too many connections"};
    case Errc::range_not_satisfiable:
      return {416, "The range is behind the end"};
    case Errc::precondition_failed:
      return {412, "A precondition does not hold"};
    case Errc::path_escapes_root:
      return {403, "The path leaves the session"};
    case Errc::path_not_found:
      return {404, "There is no such path"};
    case Errc::not_a_regular_file:
      return {409, "This is not a regular file"};
    case Errc::is_a_directory:
      return {409, "This is a directory"};
    case Errc::not_a_directory:
      return {409, "This is not a directory"};
    case Errc::directory_not_empty:
      return {409, "The directory is not empty"};
    case Errc::already_exists:
      return {409, "Something of that name exists"};
    case Errc::name_too_long:
      return {400, "A name is too long"};
    case Errc::too_many_links:
      return {409, "There are too many links"};
    case Errc::checksum_mismatch:
      return {422, "The checksum does not match"};
    case Errc::edit_not_found:
      return {409, "The text to replace is not there"};
    case Errc::append_offset_mismatch:
      return {409, "The file ends at another offset"};
    case Errc::permission_denied:
      return {403, "Permission denied"};
    case Errc::in_use:
      return {409, "The path is in use"};
    case Errc::no_space:
      return {507, "There is no space left"};
    case Errc::resource_exhausted:
      return {503, "The machine is out of a resource"};
    case Errc::already_initialised:
      return {409, "The sandbox was initialised before"};
    case Errc::sandbox_not_found:
      return {404, "There is no such sandbox"};
    case Errc::sandbox_conflict:
      return {409, "The sandbox exists already"};
    case Errc::sandbox_not_running:
      return {409, "The sandbox does not run"};
    case Errc::sandbox_failed:
      return {502, "The sandbox could not be brought up"};
    case Errc::quota_exceeded:
      return {429, "A quota of the cluster is used up"};
    case Errc::cluster_unavailable:
      return {503, "The cluster does not do its part"};
    case Errc::sandbox_starting:
      return {503, "The sandbox is being started"};
    case Errc::port_not_listening:
      return {502, "Nothing listens on the port"};
    case Errc::too_many_sandboxes:
      return {429, "The limit of the API key is reached"};
    case Errc::bad_gateway:
      return {502, "The server behind gave no answer"};
    case Errc::egress_waiting:
      return {503, "The network is not closed yet"};
    case Errc::draining:
      return {503, "The agent is about to stop"};
    case Errc::timeout:
      return {504, "The wait took too long"};
    case Errc::cancelled:
      return {499, "The request was cancelled"};
    case Errc::io_error:
      return {500, "An operation of the system failed"};
    case Errc::internal:
      return {500, "An internal error"};
  }
  return {500, "An internal error"};
}

}  // namespace

unsigned http_status(Errc code) noexcept {
  return entry(code).status;
}

std::string_view problem_title(Errc code) noexcept {
  return entry(code).title;
}

std::string problem_json(const Error& error, std::string_view instance, std::span<const ProblemMember> extra) {
  const Entry known = entry(error.code);
  const std::string_view code = name(error.code);
  std::string out{'{'};
  append_json_text(out, "type", "urn:skiff:problem:" + std::string{code});
  append_json_text(out, "title", known.title);
  append_json_key(out, "status");
  append_json_integer(out, std::uint64_t{known.status});
  append_json_text(out, "detail", error.message);
  if (!instance.empty()) append_json_text(out, "instance", instance);
  append_json_text(out, "code", code);
  if (!error.field.empty()) append_json_text(out, "field", error.field);
  for (const ProblemMember& member : extra) {
    if (const auto* text = std::get_if<std::string_view>(&member.value)) {
      append_json_text(out, member.name, *text);
      continue;
    }
    append_json_key(out, member.name);
    if (const auto* number = std::get_if<std::int64_t>(&member.value)) {
      append_json_integer(out, *number);
    } else {
      out += std::get<bool>(member.value) ? "true" : "false";
    }
  }
  out += '}';
  return out;
}

}  // namespace skiff::protocol
