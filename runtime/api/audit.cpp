#include "runtime/api/audit.hpp"

#include "base/bytes/sha.hpp"
#include "protocol/service/audit_line.hpp"

namespace skiff::runtime::api {
namespace {

using protocol::service::AuditLine;

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
  AuditLine line{"request"};
  line.text("request_id", request.caller.request_id)
      .text("who", request.caller.identity.name)
      .text("peer", answered.peer)
      .text("method", answered.method.substr(0, AuditLine::kLongestMethod))
      .text("route", request.route)
      .text("session", request.session)
      .text("command", request.command)
      .number("status", answered.status)
      .number("bytes", answered.bytes)
      .duration(answered.duration)
      .text("traceparent", request.caller.traceparent);
  audit->write(line.done());
}

void audit_command(const Agent& agent, const Caller& caller, const sessions::Command& command) {
  if (!agent.access.audit) return;
  const sessions::CommandSpec& spec = command.spec();
  const std::string content = content_of(spec);
  AuditLine line{"command"};
  line.text("request_id", caller.request_id)
      .text("who", caller.identity.name)
      .text("session", command.session())
      .text("command", command.id())
      .text("user", spec.user.value_or(""))
      .number("size_bytes", content.size())
      .text("sha256", to_hex(Sha256::of(content)));
  if (agent.settings.audit_commands && spec.line) line.text("command_line", *spec.line);
  if (agent.settings.audit_commands && !spec.line) line.texts("argv", spec.argv);
  line.text("traceparent", caller.traceparent);
  agent.access.audit->write(line.done());
}

}  // namespace skiff::runtime::api
