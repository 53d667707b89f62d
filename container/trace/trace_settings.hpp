#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "container/kube/auth/proxy.hpp"
#include "container/kube/auth/url.hpp"
#include "protocol/http/message.hpp"

namespace skiff::container {

/// Which traces are recorded.
struct TraceSampler {
  enum class Root : std::uint8_t { always_on, always_off, ratio };
  Root root = Root::always_on;  ///< of traces that begin here
  double ratio = 1;             ///< 0..1
  bool parent_based = true;     ///< a trace that was begun elsewhere: as it was decided there
};

/// Where spans are sent, and what is said about this process with them.
struct TraceSettings {
  kube::Url collector = {};  ///< with the path
  protocol::Headers headers = {};
  std::chrono::milliseconds timeout{3'000};
  std::vector<std::pair<std::string, std::string>> resource = {};  ///< attributes; service.name is one
  TraceSampler sampler = {};
  std::string parent = {};  ///< a valid traceparent, or empty
};

struct TraceConfiguration {
  std::optional<TraceSettings> settings = {};  ///< none: nothing is traced
  std::vector<std::string> warnings = {};      ///< variables that were not understood, a line each
};

/// Reads the variables of the OpenTelemetry specification ("Environment Variable Specification", "OTLP Exporter
/// Configuration"): OTEL_EXPORTER_OTLP_{,TRACES_}{ENDPOINT,HEADERS,TIMEOUT}, OTEL_SERVICE_NAME,
/// OTEL_RESOURCE_ATTRIBUTES, OTEL_SDK_DISABLED, OTEL_TRACES_SAMPLER and its _ARG; and TRACEPARENT. Without an endpoint
/// there are no settings: the specification's default of a collector on this machine would make every command of
/// everybody knock there. An empty variable counts as absent; what is not understood is a warning, never an error.
[[nodiscard]] TraceConfiguration read_trace_settings(const kube::Environment& environment);

}  // namespace skiff::container
