#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/task.hpp"
#include "container/trace/trace_settings.hpp"
#include "container/trace/tracing.hpp"
#include "protocol/http/client.hpp"

namespace skiff::container {

/// An ExportTraceServiceRequest as JSON (OpenTelemetry Protocol, "JSON Protobuf Encoding": ids in hex, times in
/// nanoseconds as text).
[[nodiscard]] std::string otlp_request(const TraceSettings& settings, std::span<const SpanRecord> spans);

/// Sends the spans, as one request. A collector that is busy (429, 502, 503, 504) is asked again within the settings'
/// timeout, one that can't be reached is not. `resolver` is for its name. An error says what became of the spans.
[[nodiscard]] Task<Result<>> send_spans(Executor executor, protocol::Resolver resolver, TraceSettings settings,
                                        std::vector<SpanRecord> spans);

}  // namespace skiff::container
