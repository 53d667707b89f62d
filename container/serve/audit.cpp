#include "container/serve/audit.hpp"

#include "protocol/service/audit_line.hpp"

namespace skiff::container::serve {

using protocol::service::AuditLine;

std::string_view audited_key(std::string_view sha256) noexcept {
  constexpr std::size_t kDigits = 8;
  return sha256.substr(0, kDigits);
}

void audit_request(AuditLog* log, const AuditedRequest& request) {
  if (log == nullptr) return;
  AuditLine line{"request"};
  line.text("request_id", request.request_id)
      .text("who", request.who)
      .text("key", request.key)
      .text("tenant", request.tenant)
      .text("peer", request.peer)
      .text("forwarded_for", request.forwarded_for)
      .text("method", request.method.substr(0, AuditLine::kLongestMethod))
      .text("route", request.route)
      .text("sandbox", request.sandbox)
      .number("status", request.status)
      .text("error", request.error ? name(*request.error) : std::string_view{})
      .duration(request.took)
      .text("traceparent", request.traceparent);
  log->write(line.done());
}

void audit_deed(AuditLog* log, std::string_view event, std::string_view tenant, std::string_view sandbox,
                const std::optional<Error>& failure) {
  if (log == nullptr) return;
  AuditLine line{event};
  line.text("tenant", tenant)
      .text("sandbox", sandbox)
      .text("error", failure ? name(failure->code) : std::string_view{});
  log->write(line.done());
}

}  // namespace skiff::container::serve
