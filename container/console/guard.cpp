#include "container/console/guard.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>

#include "base/bytes/text.hpp"
#include "protocol/http/origin.hpp"

namespace skiff::container::console {
namespace {

constexpr std::string_view kAgentPort = "7070";
/// Most cookies of one name that are tried.
constexpr std::size_t kMostTried = 8;
constexpr std::string_view kTextPolicy =
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
constexpr std::string_view kDataPolicy = "default-src 'none'; frame-ancestors 'none'; sandbox";
constexpr std::array<std::string_view, 4> kCredentials{"X-API-Key", "X-Access-Token", "E2B-Traffic-Access-Token",
                                                       "X-Skiff-Token"};
constexpr std::array<std::string_view, 5> kDestinations{"E2b-Sandbox-Id", "E2b-Sandbox-Port", "X-Sandbox-ID",
                                                        "X-Sandbox-Port", "X-Sandbox-Namespace"};

bool is_for_script(std::string_view destination) {
  return destination == "empty" || destination == "websocket";
}

}  // namespace

bool is_for_page(const protocol::Target& target) {
  constexpr std::size_t kAgentParts = 5;
  constexpr std::string_view kApi = "v1";
  const std::vector<std::string>& parts = target.segments;
  if (target.fault || parts.empty()) return false;
  if (parts[0] == kApi) return true;
  return parts.size() >= kAgentParts && parts[0] == "s" && parts[2] == kAgentPort && parts[3] == kApi &&
         (parts[4] != "ports" || parts.size() == kAgentParts);
}

std::string_view without_port(std::string_view host) {
  const std::size_t end = host.starts_with('[') ? host.find(']') : host.find(':');
  if (end == std::string_view::npos) return host;
  return host.substr(0, host.starts_with('[') ? end + 1 : end);
}

bool is_loopback_name(std::string_view host) {
  constexpr std::array<std::string_view, 3> kLoopback{"localhost", "127.0.0.1", "[::1]"};
  const std::string_view name = without_port(host);
  return std::ranges::any_of(kLoopback, [&](std::string_view one) { return protocol::same_text(name, one); });
}

std::vector<std::string_view> cookies_named(const protocol::Headers& headers, std::string_view name) {
  std::vector<std::string_view> found;
  for (const auto& [field, value] : headers) {
    if (!protocol::same_text(field, "Cookie")) continue;
    std::string_view left = value;
    while (!left.empty() && found.size() < kMostTried) {
      const std::size_t end = std::min(left.find(';'), left.size());
      const std::string_view pair = trimmed(left.substr(0, end));
      left.remove_prefix(std::min(end + 1, left.size()));
      const std::size_t equals = std::min(pair.find('='), pair.size());
      if (pair.substr(0, equals) == name && equals != pair.size()) found.push_back(pair.substr(equals + 1));
    }
  }
  return found;
}

Result<> check_own_script(const protocol::HttpRequest& request, bool is_tls) {
  const protocol::Headers& fields = request.headers;
  const auto origin = fields.find("Origin");
  const auto site = fields.find("Sec-Fetch-Site");
  const auto destination = fields.find("Sec-Fetch-Dest");
  const bool is_own = (!origin || protocol::is_origin_of(*origin, is_tls ? "https" : "http", request.host)) &&
                      (!site || *site == "same-origin") && (!destination || is_for_script(*destination)) &&
                      (origin || (site && destination));
  if (is_own) return {};
  return fail(Errc::origin_not_allowed, "only the console's own page may send this request");
}

bool may_be_for_script(const protocol::Headers& headers) {
  const auto destination = headers.find("Sec-Fetch-Dest");
  return !destination || is_for_script(*destination);
}

bool shows_own_credential(const protocol::Headers& headers) {
  return headers.contains("Authorization") ||
         std::ranges::any_of(kCredentials, [&](std::string_view name) { return headers.contains(name); });
}

void keep_fields_of_programs(protocol::Headers& fields) {
  for (const std::string_view name : kCredentials) fields.remove(name);
  for (const std::string_view name : kDestinations) fields.remove(name);
}

void keep_fields_of_page(protocol::Headers& fields) {
  keep_fields_of_programs(fields);
  fields.remove("Authorization");
  fields.remove("Cookie");
}

void confine(protocol::Headers& answer) {
  answer.set("Content-Security-Policy", kDataPolicy);
  answer.set("Cross-Origin-Opener-Policy", "same-origin");
  answer.set("Cross-Origin-Resource-Policy", "same-origin");
  answer.set("Referrer-Policy", "no-referrer");
  answer.set("X-Content-Type-Options", "nosniff");
  answer.set("X-Frame-Options", "DENY");
}

void confine_page(protocol::Headers& answer) {
  answer.set("Content-Security-Policy", kTextPolicy);
  answer.set("X-Frame-Options", "DENY");
}

}  // namespace skiff::container::console
