#include "container/egress/judge.hpp"

#include <algorithm>
#include <vector>

#include <nlohmann/json.hpp>

namespace skiff::container::egress {
namespace {

constexpr std::string_view kMethodsInTunnel = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";

/// The rule that would allow this server; empty for a name without a domain, which no rule can name.
std::string rule_for(const Target& target) {
  std::string rule = target.text();
  if (target.is_plain) {
    rule = "http://" + (target.port == kHttpPort ? target.host : rule);
  } else if (target.port == kHttpsPort) {
    rule = target.host;
  }
  return Policy::parse(std::vector{rule}) ? rule : std::string{};
}

}  // namespace

std::optional<Refusal> judge(const Policy* policy, const Target& target, std::string_view sandbox) {
  if (policy == nullptr) {
    return Refusal{503, "no_policy", "the policy of this sandbox cannot be read: set it again with skiff network"};
  }
  if (policy->allows(target.host, target.port, target.is_plain)) return std::nullopt;
  Refusal refusal{
      .code = "not_allowed", .detail = "this sandbox may not reach " + target.host, .rule = rule_for(target)};
  if (policy->names(target.host)) {
    refusal.code = "port_not_allowed";
    refusal.detail = "this sandbox may reach " + target.host + ", but not its port " + std::to_string(target.port) +
                     (target.is_plain ? " without TLS" : "");
  }
  if (!refusal.rule.empty()) {
    refusal.detail.append("; outside of the sandbox `skiff network ")
        .append(sandbox)
        .append(" --egress '+")
        .append(refusal.rule)
        .append("'` allows it");
  }
  return refusal;
}

std::optional<Refusal> judge_addresses(std::span<const protocol::Address> addresses, const Target& target,
                                       const std::function<bool(const protocol::Address&)>& is_public) {
  if (addresses.empty()) return Refusal{502, "dns", target.host + " has no address"};
  const auto wrong = std::ranges::find_if_not(addresses, is_public);
  if (wrong == addresses.end()) return std::nullopt;
  return Refusal{403, "private_address",
                 target.host + " has the address " + wrong->host() +
                     ", which is not public: no rule allows a name with such an address"};
}

std::optional<Refusal> judge_hello(const protocol::ClientHelloReader& hello, const Target& target) {
  if (hello.state() == protocol::ClientHelloReader::State::wrong) {
    return Refusal{403, "not_tls", std::string{hello.why()}};
  }
  const auto name = host_name(hello.name());
  if (name && *name == target.host) return std::nullopt;
  return Refusal{403, "sni_mismatch", "the client asks " + hello.name() + " for TLS in a tunnel to " + target.host};
}

protocol::HttpResponse answer(const Refusal& refusal, const Target& target) {
  nlohmann::ordered_json problem{{"type", "about:blank"},
                                 {"title", "The sandbox's egress proxy refuses this"},
                                 {"status", refusal.status},
                                 {"detail", refusal.detail},
                                 {"code", refusal.code}};
  if (!target.host.empty()) {
    problem["host"] = target.host;
    problem["port"] = target.port;
  }
  protocol::HttpResponse answer{.status = refusal.status,
                                .headers = {{"X-Skiff-Egress", refusal.code}},
                                .body = problem.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) + "\n"};
  // Inside a tunnel the server's own methods pass. The target is empty before CONNECT.
  if (refusal.status == 405) answer.headers.add("Allow", target.host.empty() ? "CONNECT" : kMethodsInTunnel);
  answer.headers.add("Content-Type", "application/problem+json");
  return answer;
}

std::string response(const Refusal& refusal, const Target& target) {
  protocol::HttpResponse whole = answer(refusal, target);
  whole.headers.add("Connection", "close");
  whole.headers.add("Content-Length", std::to_string(whole.body.size()));
  std::string head = protocol::serialize_head(whole.status, whole.headers);
  // Clients such as pip show no more than the status line.
  head.insert(head.find("\r\n"), " (skiff: " + std::string{refusal.code} + ")");
  return head + whole.body;
}

}  // namespace skiff::container::egress
