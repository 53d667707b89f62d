#include "container/egress/explain.hpp"

#include <algorithm>
#include <utility>

#include "container/egress/terminate/judge_request.hpp"
#include "protocol/http/target.hpp"

namespace skiff::container::egress {
namespace {

constexpr std::string_view kEndOfScheme = "://";

std::string lower(std::string_view text) {
  std::string made{text};
  for (char& c : made) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return made;
}

Result<Target> tunnel_to(std::string_view authority) {
  std::string text{authority};
  if (!text.contains(':')) text += ":" + std::to_string(kHttpsPort);
  return Target::parse(text);
}

/// The server that a client of the proxy asks for, if it has to fetch this.
Result<Target> target_of(std::string_view wanted) {
  const std::size_t scheme_end = wanted.find(kEndOfScheme);
  if (scheme_end == std::string_view::npos) return tunnel_to(wanted);
  const std::string scheme = lower(wanted.substr(0, scheme_end));
  std::string_view authority = wanted.substr(scheme_end + kEndOfScheme.size());
  authority = authority.substr(0, authority.find_first_of("/?#"));
  // Clients take no agreed host from a backslash, and a user's name is not for the proxy.
  if (authority.contains('@') || authority.contains('\\')) {
    return fail(Errc::invalid_request, "a URL is judged without a user name and without a backslash before its path");
  }
  if (scheme == "https") return tunnel_to(authority);
  if (scheme == "http") return Target::plain(authority);
  return fail(Errc::invalid_request, "only https:// and http:// pass; for another protocol over TLS name HOST:PORT");
}

/// The path of a URL, as a client sends it.
std::string path_of(std::string_view url) {
  const std::size_t scheme_end = url.find(kEndOfScheme);
  if (scheme_end == std::string_view::npos) return "/";
  std::string path{url.substr(std::min(url.find_first_of("/?#", scheme_end + kEndOfScheme.size()), url.size()))};
  path.erase(std::min(path.find('#'), path.size()));
  return path.starts_with('/') ? path : "/" + path;
}

std::optional<Refusal> judge_secret(const Secret& secret, const std::string& method, std::string_view wanted) {
  const auto path = protocol::Target::parse(path_of(wanted));
  if (!path) return Refusal{400, "bad_target", path.error().message};
  return judge_path(secret, method, *path);
}

}  // namespace

Explanation explain(const Policy* policy, std::string_view wanted, std::string_view sandbox, const std::string& method,
                    std::span<const Secret> secrets) {
  auto target = target_of(wanted);
  if (!target) return {.refusal = Refusal{400, "bad_target", target.error().message}};
  Explanation made{.target = std::move(*target)};
  made.refusal = judge(policy, made.target, sandbox);
  if (made.refusal) return made;
  made.rule = policy->rule_of(made.target.host, made.target.port, made.target.is_plain);
  for (const Secret& secret : secrets) {
    if (!secret.is_for(made.target)) continue;
    made.secret = secret.name;
    // The name of a server alone is not a request.
    if (method.empty() && !wanted.contains(kEndOfScheme)) continue;
    made.refusal = judge_secret(secret, method.empty() ? "GET" : method, wanted);
  }
  return made;
}

}  // namespace skiff::container::egress
