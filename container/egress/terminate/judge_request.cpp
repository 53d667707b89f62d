#include "container/egress/terminate/judge_request.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "container/egress/passing.hpp"
#include "container/egress/terminate/injection.hpp"
#include "container/egress/terminate/request_rule.hpp"
#include "protocol/json/utf8.hpp"

namespace skiff::container::egress {
namespace {

/// Requests that a refusal names, of those that would pass.
constexpr std::size_t kNamed = 4;

/// The server that the Host of a request names.
std::optional<Target> named_in(std::string_view host) {
  std::string text{host};
  if (!text.contains(':')) text += ":" + std::to_string(kHttpsPort);
  auto target = Target::parse(text);
  return target ? std::optional{std::move(*target)} : std::nullopt;
}

/// The requests that a secret is for, for people.
std::string requests_of(const Secret& secret) {
  std::string text;
  for (std::size_t i = 0; i < std::min(secret.requests.size(), kNamed); ++i) {
    text += (text.empty() ? "" : ", ") + secret.requests[i];
  }
  return secret.requests.size() > kNamed ? text + " and others" : text;
}

}  // namespace

std::optional<Refusal> judge_request(const protocol::HttpRequest& request, const Target& tunnel) {
  if (request.method == "TRACE" || request.method == "CONNECT") {
    return Refusal{405, "method_not_allowed", request.method + " does not pass to a host with a secret"};
  }
  if (!request.target_text.starts_with('/')) {
    return Refusal{400, "bad_target", "the target of a request in a tunnel begins with a slash"};
  }
  const auto named = named_in(request.host);
  if (!named || named->text() != tunnel.text()) {
    return Refusal{421, "host_mismatch", "the request is for another host than its tunnel, " + tunnel.text()};
  }
  return std::nullopt;
}

Refusal too_large(const Secret& secret) {
  return {413, "upload_too_large",
          "the secret " + secret.name + " is for bodies of at most " + std::to_string(secret.upload_limit) + " bytes"};
}

std::optional<Refusal> judge_path(const Secret& secret, const std::string& method, const protocol::Target& path) {
  if (secret.requests.empty()) return std::nullopt;
  const std::string used = method + " " + protocol::to_valid_utf8(path.path.substr(0, kLoggedPath));
  if (!is_clear_path(path)) {
    return Refusal{400, "bad_path", used + ": servers read such a path in different ways"};
  }
  if (!secret.is_for(method, path)) {
    return Refusal{403, "request_not_allowed",
                   used + ": the secret " + secret.name + " is for " + requests_of(secret) +
                       "; outside of the sandbox `skiff secret set " + secret.name + " ... --allow` names others"};
  }
  return std::nullopt;
}

std::optional<Refusal> judge_use(const Secret& secret, const protocol::HttpRequest& request) {
  if (secret.upload_limit > 0 && request.body.kind == protocol::BodyFraming::Kind::length &&
      request.body.length > secret.upload_limit) {
    return too_large(secret);
  }
  if (!secret.websocket && asks_for_websocket(request)) {
    return Refusal{403, "upgrade_not_allowed",
                   "the secret " + secret.name + " is not for WebSockets: skiff secret set --websocket lets them pass"};
  }
  return judge_path(secret, request.method, request.target);
}

std::optional<Refusal> judge_placeholders(const Terminator& terminator, const Secret& secret,
                                          const protocol::HttpRequest& request) {
  for (const auto& [name, placeholder] : terminator.placeholders()) {
    if (name == secret.name || !has_placeholder(request, placeholder)) continue;
    return Refusal{403, "placeholder_elsewhere",
                   "the request has the placeholder of the secret " + name + ", which is not for this host"};
  }
  return std::nullopt;
}

}  // namespace skiff::container::egress
