#include "container/trace/otlp.hpp"

#include <chrono>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/async/deadline.hpp"
#include "container/net/backoff.hpp"
#include "container/net/retry_after.hpp"
#include "protocol/json/schema.hpp"
#include "protocol/net/tls.hpp"

namespace skiff::container {
namespace {

using nlohmann::json;

constexpr std::size_t kLongestReply = std::size_t{64} << 10U;
/// Values of opentelemetry.proto.trace.v1.Status.StatusCode.
constexpr int kStatusError = 2;

/// True for the answers after which a client sends the same again (OTLP 1.5, "Failures" of OTLP/HTTP).
bool is_busy(unsigned status) {
  return status == 429 || (status >= 502 && status <= 504);
}

/// This encoding writes 64-bit numbers as text.
std::string nanoseconds(WallTime time) {
  return std::to_string(std::chrono::nanoseconds{time.time_since_epoch()}.count());
}

json attribute(const std::string& key, const AttributeValue& value) {
  json typed;
  if (const auto* text = std::get_if<std::string>(&value)) {
    typed["stringValue"] = *text;
  } else {
    typed["intValue"] = std::to_string(std::get<std::int64_t>(value));
  }
  return {{"key", key}, {"value", std::move(typed)}};
}

json attributes_of(const Attributes& attributes) {
  json list = json::array();
  for (const auto& [key, value] : attributes) list.push_back(attribute(key, value));
  return list;
}

json span_of(const SpanRecord& span) {
  json value{{"traceId", span.trace_id},
             {"spanId", span.span_id},
             {"name", span.name},
             {"kind", static_cast<int>(span.kind)},
             {"startTimeUnixNano", nanoseconds(span.began)},
             {"endTimeUnixNano", nanoseconds(span.began + span.took)},
             {"attributes", attributes_of(span.attributes)}};
  if (!span.parent_id.empty()) value["parentSpanId"] = span.parent_id;
  for (const SpanEvent& event : span.events) {
    value["events"].push_back({{"timeUnixNano", nanoseconds(event.time)},
                               {"name", event.name},
                               {"attributes", attributes_of(event.attributes)}});
  }
  if (span.failed) value["status"] = {{"code", kStatusError}, {"message", span.message}};
  return value;
}

/// The message in a 2xx answer about spans that were refused (ExportTracePartialSuccess); empty if all were taken.
std::string refused_spans(const std::string& body) {
  auto answer = protocol::parse_json(body);
  if (!answer || !answer->is_object() || !answer->contains("partialSuccess")) return {};
  const json& part = (*answer)["partialSuccess"];
  if (!part.is_object()) return {};
  const json count = part.value("rejectedSpans", json{});
  const json message = part.value("errorMessage", json{});
  const std::string why = message.is_string() ? message.get<std::string>() : "";
  const bool none = count.is_null() || count == 0 || count == "0";
  if (none && why.empty()) return {};
  return (none ? "a warning" : count.dump() + " spans were refused") + (why.empty() ? "" : ": " + why);
}

}  // namespace

std::string otlp_request(const TraceSettings& settings, std::span<const SpanRecord> spans) {
  json resource = json::array();
  for (const auto& [key, value] : settings.resource) resource.push_back(attribute(key, value));
  json list = json::array();
  for (const SpanRecord& span : spans) list.push_back(span_of(span));
  json scope{{"scope", {{"name", "skiff"}, {"version", SKIFF_VERSION}}}, {"spans", std::move(list)}};
  json of_resource{{"resource", {{"attributes", std::move(resource)}}},
                   {"scopeSpans", json::array({std::move(scope)})}};
  const json request{{"resourceSpans", json::array({std::move(of_resource)})}};
  return request.dump(-1, ' ', false, json::error_handler_t::replace);
}

Task<Result<>> send_spans(Executor executor, protocol::Resolver resolver, TraceSettings settings,
                          std::vector<SpanRecord> spans) {
  std::shared_ptr<protocol::TlsContext> tls;
  if (settings.collector.tls) {
    SKIFF_CO_TRY(tls, protocol::TlsContext::client({}));
  }
  protocol::HttpClient client{executor,
                              {.host = settings.collector.host,
                               .port = settings.collector.port,
                               .tls = std::move(tls),
                               .resolver = std::move(resolver),
                               .connect_time = settings.timeout,
                               .idle_time = settings.timeout}};
  protocol::Headers headers = settings.headers;
  headers.set("Content-Type", "application/json");
  headers.set("User-Agent", "skiff/" SKIFF_VERSION);
  const std::string body = otlp_request(settings, spans);
  net::Backoff backoff{{.all = settings.timeout}};
  for (;;) {
    protocol::HttpClient::Request request{
        .method = "POST", .target = settings.collector.path, .headers = headers, .body = body};
    SKIFF_CO_TRY(auto reply, co_await client.request(std::move(request), kLongestReply));
    if (reply.head.status / 100 == 2) {
      std::string refused = refused_spans(reply.body);
      if (!refused.empty()) co_return fail(Errc::invalid_request, std::move(refused));
      co_return Result<>{};
    }
    // Ignore the body, which is in the encoding of the request or a proxy's page: the status says enough.
    const auto wait =
        is_busy(reply.head.status)
            ? backoff.next({}, net::retry_after(reply.head.headers).value_or(std::chrono::milliseconds{0}))
            : std::nullopt;
    if (!wait) co_return fail(Errc::io_error, "the collector answers " + std::to_string(reply.head.status));
    client.close();
    co_await pause(*wait);
  }
}

}  // namespace skiff::container
