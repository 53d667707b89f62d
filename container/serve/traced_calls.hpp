#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "base/task.hpp"
#include "container/serve/fleet.hpp"
#include "container/trace/tracing.hpp"

/// What a request does that takes time, as a span of it.
namespace skiff::container::serve {

/// `Fleet::create`, its phases events of the span. It may go on when its request has been answered.
[[nodiscard]] Task<Result<Made>> create_traced(Fleet* fleet, TraceParent trace, ApiKey key, Wish wish,
                                               Progress progress);
/// `Fleet::start`
[[nodiscard]] Task<Result<Sandbox>> start_traced(Fleet* fleet, const TraceParent& trace, ApiKey key, std::string id,
                                                 std::optional<std::chrono::milliseconds> ttl);

}  // namespace skiff::container::serve
