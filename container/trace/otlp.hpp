#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "container/trace/trace_settings.hpp"
#include "container/trace/tracing.hpp"
#include "protocol/http/client.hpp"

namespace skiff::container {

/// An ExportTraceServiceRequest as JSON (OpenTelemetry Protocol, "JSON Protobuf Encoding": ids in hex, times in
/// nanoseconds as text).
[[nodiscard]] std::string otlp_request(const TraceSettings& settings, std::span<const SpanRecord> spans);

/// Sends the spans in one request. If the collector is busy (429, 502, 503, 504), the request is repeated within the
/// settings' timeout; if it cannot be reached, it is not. `resolver` resolves its name. An error means that spans were
/// refused or lost.
[[nodiscard]] Task<Result<>> send_spans(Executor executor, protocol::Resolver resolver, TraceSettings settings,
                                        std::vector<SpanRecord> spans);

}  // namespace skiff::container
