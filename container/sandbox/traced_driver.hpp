#pragma once

#include <memory>

#include "container/sandbox/driver.hpp"
#include "container/trace/tracing.hpp"

namespace skiff::container {

/// Wraps a driver: each call that changes something has a span, with the phases of a creation as events. Its endpoints
/// carry the trace to the agents.
[[nodiscard]] std::unique_ptr<Driver> trace_driver(std::unique_ptr<Driver> driver, TraceParent parent);

}  // namespace skiff::container
