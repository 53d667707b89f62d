#include "runtime/api/audit.hpp"

#include "base/bytes/sha.hpp"
#include "protocol/json/text.hpp"
#include "protocol/json/utf8.hpp"

namespace skiff::runtime::api {
namespace {

using protocol::append_json_key;
using protocol::append_json_number;
using protocol::append_json_string;
using protocol::append_json_text;

/// Bytes of a request's method that are logged; a client may send any method.
constexpr std::size_t kLongestMethod = 32;

/// Appends a member unless `text` is empty.
void append_known(std::string& out, std::string_view key, std::string_view text) {
  if (!text.empty()) append_json_text(out, key, text);
}

std::string begin(std::string_view event) {
  std::string line{'{'};
  append_json_text(line, "time", rfc3339(wall_now()));
  append_json_text(line, "event", event);
  return line;
}

/// The bytes that are hashed: the line, or the arguments, each followed by a zero byte, as in /proc/PID/cmdline.
std::string content_of(const sessions::CommandSpec& spec) {
  if (spec.line) return *spec.line;
  std::string joined;
  for (const std::string& argument : spec.argv) {
    joined += argument;
    joined += '\0';
  }
  return joined;
}

}  // namespace

void audit_request(AuditLog* audit, const RequestRecord& request, const Answered& answered) {
  if (audit == nullptr) return;
  std::string line = begin("request");
  append_json_text(line, "request_id", request.caller.request_id);
  append_known(line, "who", request.caller.identity.name);
  append_json_text(line, "peer", answered.peer);
  append_json_text(line, "method", answered.method.substr(0, kLongestMethod));
  append_json_text(line, "route", request.route);
  append_known(line, "session", request.session);
  append_known(line, "command", request.command);
  append_json_number(line, "status", answered.status);
  append_json_number(line, "bytes", answered.bytes);
  append_json_number(
      line, "duration_ms",
      static_cast<std::uint64_t>(std::chrono::floor<std::chrono::milliseconds>(answered.duration).count()));
  append_known(line, "traceparent", request.caller.traceparent);
  line += '}';
  audit->write(line);
}

void audit_command(const Agent& agent, const Caller& caller, const sessions::Command& command) {
  if (!agent.access.audit) return;
  const sessions::CommandSpec& spec = command.spec();
  const std::string content = content_of(spec);
  std::string line = begin("command");
  append_json_text(line, "request_id", caller.request_id);
  append_known(line, "who", caller.identity.name);
  append_json_text(line, "session", command.session());
  append_json_text(line, "command", command.id());
  append_known(line, "user", spec.user.value_or(""));
  append_json_number(line, "size_bytes", content.size());
  append_json_text(line, "sha256", to_hex(Sha256::of(content)));
  if (agent.settings.audit_commands && spec.line) append_json_text(line, "command_line", *spec.line);
  if (agent.settings.audit_commands && !spec.line) {
    append_json_key(line, "argv");
    line += '[';
    for (const std::string& argument : spec.argv) {
      if (!line.ends_with('[')) line += ',';
      append_json_string(line, protocol::to_valid_utf8(argument));
    }
    line += ']';
  }
  append_known(line, "traceparent", caller.traceparent);
  line += '}';
  agent.access.audit->write(line);
}

}  // namespace skiff::runtime::api
