#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "container/serve/fleet/fleet.hpp"
#include "container/trace/tracing.hpp"

/// Slow calls of a request, each in a span of its trace.
namespace skiff::container::serve {

/// Calls `Fleet::create`; its phases are events of the span. It may go on after its request was answered.
[[nodiscard]] Task<Result<Made>> create_traced(Fleet* fleet, TraceParent trace, ApiKey key, CreateRequest request,
                                               Progress progress);
/// Calls `Fleet::start`.
[[nodiscard]] Task<Result<Sandbox>> start_traced(Fleet* fleet, const TraceParent& trace, ApiKey key, std::string id,
                                                 std::optional<std::chrono::milliseconds> ttl);

}  // namespace skiff::container::serve
