#include "container/egress/judge.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace skiff::container::egress {

std::string rule_for(const Target& target) {
  if (target.is_plain) return "http://" + (target.port == kHttpPort ? target.host : target.text());
  return target.port == kHttpsPort ? target.host : target.text();
}

std::optional<Refusal> judge(const Policy* policy, const Target& target, std::string_view sandbox) {
  if (policy == nullptr) {
    return Refusal{503, "no_policy", "the policy of this sandbox cannot be read: set it again with skiff network"};
  }
  if (policy->allows(target.host, target.port, target.is_plain)) return std::nullopt;
  const std::string remedy = std::string{"; outside of the sandbox `skiff network "}
                                 .append(sandbox)
                                 .append(" --egress '+")
                                 .append(rule_for(target))
                                 .append("'` allows it");
  if (policy->names(target.host)) {
    return Refusal{403, "port_not_allowed",
                   "this sandbox may reach " + target.host + ", but not its port " + std::to_string(target.port) +
                       (target.is_plain ? " without TLS" : "") + remedy};
  }
  return Refusal{403, "not_allowed", "this sandbox may not reach " + target.host + remedy};
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
  if (refusal.status == 405) answer.headers.add("Allow", "CONNECT");
  answer.headers.add("Content-Type", "application/problem+json");
  return answer;
}

std::string response(const Refusal& refusal, const Target& target) {
  protocol::HttpResponse whole = answer(refusal, target);
  whole.headers.add("Connection", "close");
  whole.headers.add("Content-Length", std::to_string(whole.body.size()));
  return protocol::serialize_head(whole.status, whole.headers) + whole.body;
}

}  // namespace skiff::container::egress
