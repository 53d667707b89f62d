#pragma once

#include <memory>

#include "container/sandbox/driver.hpp"
#include "container/trace/tracing.hpp"

namespace skiff::container {

/// Another driver, with a span around each call that changes something; the phases of a bring-up are events of it. The
/// endpoints that it gives carry the trace to the agents.
[[nodiscard]] std::unique_ptr<Driver> trace_driver(std::unique_ptr<Driver> driver, TraceParent parent);

}  // namespace skiff::container
