#include "runtime/api/record_request.hpp"

#include <algorithm>
#include <utility>

#include "base/id.hpp"
#include "base/log/log.hpp"
#include "protocol/http/traceparent.hpp"

namespace skiff::runtime::api {
namespace {

constexpr std::size_t kLongestRequestId = 128;

std::string request_id_of(const protocol::Headers& headers) {
  const std::string_view given = headers.get("X-Request-Id");
  const bool usable = !given.empty() && given.size() <= kLongestRequestId &&
                      std::ranges::all_of(given, [](char c) { return c > ' ' && c < '\x7f'; });
  return usable ? std::string{given} : new_id("r-");
}

log::Level level_of(const RequestRecord& request, unsigned status) {
  if (status >= 500) return log::Level::warning;
  return request.is_aside ? log::Level::debug : log::Level::info;
}

}  // namespace

Caller caller_of(const protocol::Headers& headers, Identity identity) {
  return {.identity = std::move(identity),
          .request_id = request_id_of(headers),
          .traceparent = protocol::valid_traceparent(headers.get("traceparent"))};
}

void record_request(Agent& agent, const RequestRecord& request, const Answered& answered) {
  if (answered.status != 0) agent.requests.count(request.row, answered.status);
  agent.requests.observe(request.row, std::chrono::duration<double>{answered.duration}.count());
  if (!request.is_aside) audit_request(agent.access.audit.get(), request, answered);
  const auto level = level_of(request, answered.status);
  if (!log::enabled(level)) return;
  log::write(level, "request",
             {{"method", answered.method},
              {"route", request.route},
              {"status", answered.status},
              {"bytes", answered.bytes},
              {"duration_ms", answered.duration},
              {"who", request.caller.identity.name},
              {"request_id", request.caller.request_id},
              {"command", request.command},
              {"peer", answered.peer},
              {"traceparent", request.caller.traceparent}});
}

void record_request(Agent& agent, const RequestRecord& request, const protocol::HttpExchange& http) {
  record_request(agent, request,
                 {.peer = http.peer(),
                  .method = http.request().method,
                  .status = http.status(),
                  .bytes = http.body_bytes_sent(),
                  .duration = took(request)});
}

std::chrono::microseconds took(const RequestRecord& request) {
  return std::chrono::floor<std::chrono::microseconds>(std::chrono::steady_clock::now() - request.began);
}

}  // namespace skiff::runtime::api
