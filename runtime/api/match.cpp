#include "runtime/api/match.hpp"

#include <algorithm>
#include <string_view>

#include "sessions/registry.hpp"

namespace skiff::runtime::api {
namespace {

/// What is told to a CONNECT: the methods that RFC 9110 and RFC 5789 name.
constexpr std::string_view kPassedMethods = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS, TRACE";

/// A last part that takes everything that is left, slashes included: a file's path.
constexpr std::string_view kRestOfPath = "{path}";

/// A route's path in its parts.
struct Template {
  const Route* route = nullptr;
  std::vector<std::string_view> parts;
  bool takes_rest = false;

  explicit Template(const Route& one) : route{&one}, takes_rest{one.path.ends_with(kRestOfPath)} {
    for (std::string_view path = one.path; !path.empty();) {
      path.remove_prefix(1);
      const std::size_t slash = std::min(path.find('/'), path.size());
      parts.push_back(path.substr(0, slash));
      path.remove_prefix(slash);
    }
  }

  /// What follows `{...}` in a part: ":tcp".
  static std::string_view verb_of(std::string_view part) { return part.substr(part.find('}') + 1); }

  static bool fits(std::string_view part, std::string_view segment) {
    if (!part.starts_with('{')) return part == segment;
    const std::string_view verb = verb_of(part);
    return segment.size() > verb.size() && segment.ends_with(verb);
  }

  [[nodiscard]] bool fits(const std::vector<std::string>& segments) const {
    if (takes_rest ? segments.size() < parts.size() : segments.size() != parts.size()) return false;
    const std::size_t compared = parts.size() - (takes_rest ? 1 : 0);
    for (std::size_t i = 0; i < compared; ++i) {
      if (!fits(parts[i], segments[i])) return false;
    }
    return true;
  }

  /// What stands for `{...}` in segments that fit.
  [[nodiscard]] std::vector<std::string> parameters(const std::vector<std::string>& segments) const {
    std::vector<std::string> found;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (!parts[i].starts_with('{')) continue;
      found.push_back(segments[i].substr(0, segments[i].size() - verb_of(parts[i]).size()));
    }
    if (takes_rest) {
      for (std::size_t i = parts.size(); i < segments.size(); ++i) found.back().append(1, '/').append(segments[i]);
    }
    return found;
  }
};

/// `/v1/commands...`, `/v1/files...` are short for the default session's.
bool is_short(const std::vector<std::string>& segments) {
  if (segments.size() < 2 || segments[0] != "v1") return false;
  return segments[1] == "commands" || segments[1] == "files" || segments[1].starts_with("files:");
}

}  // namespace

Match match(std::string_view method, const std::vector<std::string>& asked) {
  std::vector<std::string> longer;
  const bool is_abbreviated = is_short(asked);
  if (is_abbreviated) {
    longer = {"v1", "sessions", std::string{sessions::Registry::kDefault}};
    longer.insert(longer.end(), asked.begin() + 1, asked.end());
  }
  const auto& segments = is_abbreviated ? longer : asked;
  Match found;
  static const std::vector<Template> templates{routes().begin(), routes().end()};
  for (const Template& one : templates) {
    if (!one.fits(segments)) continue;
    const Route& route = *one.route;
    const bool wanted = (route.passes_on() && method != "CONNECT") || route.method == method ||
                        (method == "HEAD" && route.method == "GET" && !route.websocket);
    if (wanted) {
      found.route = &route;
      found.params = one.parameters(segments);
      return found;
    }
    if (!found.allow.empty()) found.allow += ", ";
    found.allow += route.passes_on() ? kPassedMethods : route.method;
    if (route.method == "GET" && !route.websocket) found.allow += ", HEAD";
  }
  return found;
}

}  // namespace skiff::runtime::api
