#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "container/net/proxy.hpp"
#include "container/net/url.hpp"
#include "protocol/http/message.hpp"

namespace skiff::container {

/// Which traces are recorded.
struct TraceSampler {
  enum class Root : std::uint8_t { always_on, always_off, ratio };
  Root root = Root::always_on;  ///< for traces that begin here
  double ratio = 1;             ///< 0..1
  bool parent_based = true;     ///< a trace that began elsewhere keeps the decision made there
};

/// The destination of spans, and their description of this process.
struct TraceSettings {
  net::Url collector = {};  ///< URL with the path
  protocol::Headers headers = {};
  std::chrono::milliseconds timeout{3'000};
  std::vector<std::pair<std::string, std::string>> resource = {};  ///< attributes; service.name is one
  TraceSampler sampler = {};
  std::string parent = {};  ///< a valid traceparent, or empty
};

struct TraceConfiguration {
  std::optional<TraceSettings> settings = {};  ///< empty: nothing is traced
  std::vector<std::string> warnings = {};      ///< one line for each variable that was not understood
};

/// Reads the variables of the OpenTelemetry specification ("Environment Variable Specification", "OTLP Exporter
/// Configuration"): OTEL_EXPORTER_OTLP_{,TRACES_}{ENDPOINT,HEADERS,TIMEOUT}, OTEL_SERVICE_NAME,
/// OTEL_RESOURCE_ATTRIBUTES, OTEL_SDK_DISABLED, OTEL_TRACES_SAMPLER and its _ARG; and TRACEPARENT. Without an endpoint
/// there are no settings: the specification's default, a collector on this machine, would make every command try to
/// connect there. An empty variable counts as absent. A variable that is not understood is a warning, never an error.
[[nodiscard]] TraceConfiguration read_trace_settings(const net::Environment& environment);

}  // namespace skiff::container
