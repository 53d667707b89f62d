#include "runtime/api/account.hpp"

#include "base/log.hpp"

namespace skiff::runtime::api {

void account_for(Agent& agent, std::size_t row, const AuditedRequest& request, Told told) {
  agent.requests.answered(row, request.status, std::chrono::duration<double>{request.duration}.count());
  if (told == Told::all) audit_request(agent, request);
  const auto level = request.status >= 500 ? log::Level::warning
                     : told == Told::aside ? log::Level::debug
                                           : log::Level::info;
  if (!log::enabled(level)) return;
  log::write(level, "request",
             {{"method", request.method},
              {"route", request.route},
              {"status", request.status},
              {"bytes", request.bytes},
              {"duration_ms", request.duration},
              {"who", request.who},
              {"request_id", request.request_id},
              {"command", request.command},
              {"peer", request.peer},
              {"traceparent", request.traceparent}});
}

}  // namespace skiff::runtime::api
