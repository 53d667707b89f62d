#pragma once

#include "protocol/http/message.hpp"
#include "protocol/http/server/exchange.hpp"
#include "runtime/agent.hpp"
#include "runtime/api/audit.hpp"

namespace skiff::runtime::api {

/// Reads the request id and the trace context from a request's fields. The id is the client's X-Request-Id if that has
/// 1 to 128 visible ASCII characters, else a new one.
[[nodiscard]] Caller caller_of(const protocol::Headers& headers, Identity identity = {});

/// Records a request when its answer is over, in the metrics, the audit log and the log.
void record_request(Agent& agent, const RequestRecord& request, const Answered& answered);
void record_request(Agent& agent, const RequestRecord& request, const protocol::HttpExchange& http);

/// The time since a request began.
[[nodiscard]] std::chrono::microseconds took(const RequestRecord& request);

}  // namespace skiff::runtime::api
