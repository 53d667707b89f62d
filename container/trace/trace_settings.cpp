#include "container/trace/trace_settings.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <string_view>
#include <system_error>

#include "base/bytes/text.hpp"
#include "protocol/http/target.hpp"
#include "protocol/http/traceparent.hpp"

namespace skiff::container {
namespace {

using std::chrono::milliseconds;

constexpr std::uint32_t kLongestTimeoutMs = 60'000;
constexpr std::string_view kPath = "/v1/traces";

class VariableReader {
 public:
  VariableReader(const net::Environment& environment, std::vector<std::string>* warnings)
      : environment_{environment}, warnings_{warnings} {}

  std::string get(const char* name) const { return std::string{trimmed(environment_(name))}; }

  /// The variable for traces wins over the one for all signals.
  std::string exporter(const std::string& name) const {
    std::string value = get(("OTEL_EXPORTER_OTLP_TRACES_" + name).c_str());
    return value.empty() ? get(("OTEL_EXPORTER_OTLP_" + name).c_str()) : value;
  }

  void warn(std::string line) const { warnings_->push_back("tracing: " + std::move(line)); }

  /// "a=1,b=two%20words": an invalid list is ignored as a whole, as the specification says.
  std::vector<std::pair<std::string, std::string>> pairs(std::string_view text, std::string_view what) const {
    std::vector<std::pair<std::string, std::string>> found;
    while (!text.empty()) {
      const std::size_t end = std::min(text.find(','), text.size());
      const std::string_view entry = trimmed(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
      if (entry.empty()) continue;
      const std::size_t equals = entry.find('=');
      auto key = protocol::percent_decode(trimmed(entry.substr(0, std::min(equals, entry.size()))));
      auto value = equals == std::string_view::npos ? fail(Errc::invalid_field, "")
                                                    : protocol::percent_decode(trimmed(entry.substr(equals + 1)));
      if (!key || key->empty() || !value) {
        // Headers contain secrets, so the message repeats no value.
        warn(std::string{what} + " is ignored: it is not a list of key=value, separated by commas");
        return {};
      }
      found.emplace_back(std::move(*key), std::move(*value));
    }
    return found;
  }

 private:
  const net::Environment& environment_;
  std::vector<std::string>* warnings_;
};

std::optional<net::Url> collector(const VariableReader& read) {
  constexpr const char* kTraces = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
  constexpr const char* kAll = "OTEL_EXPORTER_OTLP_ENDPOINT";
  const bool is_own = !read.get(kTraces).empty();
  const std::string text = read.get(is_own ? kTraces : kAll);
  if (text.empty()) return std::nullopt;
  auto url = net::parse_url(text, is_own ? kTraces : kAll);
  if (!url) {
    read.warn(url.error().message);
    return std::nullopt;
  }
  if (!is_own) url->path += kPath;
  if (url->path.empty()) url->path = "/";
  return std::move(*url);
}

bool is_token(std::string_view text) {
  return std::ranges::all_of(text,
                             [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.'; });
}

protocol::Headers headers(const VariableReader& read) {
  protocol::Headers all;
  for (const auto& [name, value] : read.pairs(read.exporter("HEADERS"), "OTEL_EXPORTER_OTLP_HEADERS")) {
    const bool is_text = std::ranges::none_of(value, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
    if (is_token(name) && is_text) {
      all.set(name, value);
    } else {
      read.warn("OTEL_EXPORTER_OTLP_HEADERS: \"" + name + "\" is left out: it cannot be sent in a header");
    }
  }
  return all;
}

milliseconds timeout(const VariableReader& read) {
  const std::string text = read.exporter("TIMEOUT");
  milliseconds time = TraceSettings{}.timeout;
  if (text.empty()) return time;
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value == 0) {
    read.warn("OTEL_EXPORTER_OTLP_TIMEOUT is not a number of milliseconds: " + std::to_string(time.count()) + " it is");
    return time;
  }
  return milliseconds{std::min(value, kLongestTimeoutMs)};
}

std::vector<std::pair<std::string, std::string>> resource(const VariableReader& read) {
  auto attributes = read.pairs(read.get("OTEL_RESOURCE_ATTRIBUTES"), "OTEL_RESOURCE_ATTRIBUTES");
  const auto is_name = [](const auto& one) { return one.first == "service.name"; };
  if (std::string name = read.get("OTEL_SERVICE_NAME"); !name.empty()) {
    std::erase_if(attributes, is_name);
    attributes.emplace_back("service.name", std::move(name));
  }
  if (std::ranges::none_of(attributes, is_name)) attributes.emplace_back("service.name", "skiff");
  return attributes;
}

TraceSampler sampler(const VariableReader& read) {
  constexpr std::array<std::string_view, 3> kRoots{"always_on", "always_off", "traceidratio"};
  constexpr std::string_view kParentBased = "parentbased_";
  TraceSampler sampler;
  const std::string text = read.get("OTEL_TRACES_SAMPLER");
  if (text.empty()) return sampler;
  std::string_view root = text;
  const bool parent_based = root.starts_with(kParentBased);
  if (parent_based) root.remove_prefix(kParentBased.size());
  const auto* const known = std::ranges::find(kRoots, root);
  if (known == kRoots.end()) {
    read.warn("OTEL_TRACES_SAMPLER: \"" + text + "\" is not known here: parentbased_always_on it is");
    return sampler;
  }
  sampler.parent_based = parent_based;
  sampler.root = static_cast<TraceSampler::Root>(known - kRoots.begin());
  const std::string argument = read.get("OTEL_TRACES_SAMPLER_ARG");
  if (sampler.root != TraceSampler::Root::ratio || argument.empty()) return sampler;
  double ratio = 0;
  const auto [end, error] = std::from_chars(argument.data(), argument.data() + argument.size(), ratio);
  if (error == std::errc{} && end == argument.data() + argument.size() && ratio >= 0 && ratio <= 1) {
    sampler.ratio = ratio;
  } else {
    read.warn("OTEL_TRACES_SAMPLER_ARG is not a number from 0 to 1: 1 it is");
  }
  return sampler;
}

}  // namespace

TraceConfiguration read_trace_settings(const net::Environment& environment) {
  TraceConfiguration configuration;
  const VariableReader read{environment, &configuration.warnings};
  std::string disabled = read.get("OTEL_SDK_DISABLED");
  std::ranges::transform(disabled, disabled.begin(), [](unsigned char c) { return std::tolower(c); });
  if (disabled == "true") return configuration;
  auto url = collector(read);
  if (!url) return configuration;
  if (read.exporter("PROTOCOL") == "grpc") {
    read.warn("OTEL_EXPORTER_OTLP_PROTOCOL is grpc, and only HTTP is spoken here: nothing is sent");
    return configuration;
  }
  configuration.settings = TraceSettings{.collector = std::move(*url),
                                         .headers = headers(read),
                                         .timeout = timeout(read),
                                         .resource = resource(read),
                                         .sampler = sampler(read),
                                         .parent = protocol::valid_traceparent(read.get("TRACEPARENT"))};
  return configuration;
}

}  // namespace skiff::container
