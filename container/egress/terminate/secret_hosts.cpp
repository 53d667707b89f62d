#include "container/egress/terminate/secret_hosts.hpp"

#include <utility>

#include "container/egress/policy.hpp"

namespace skiff::container::egress {

Result<> SecretHosts::add(const std::string& secret, const std::vector<std::string>& hosts) {
  secrets_.insert(secret);
  if (secrets_.size() > kMost) {
    return fail(Errc::invalid_field, "--egress-secret: at most " + std::to_string(kMost) + " secrets",
                "--egress-secret");
  }
  for (const std::string& host : hosts) {
    SKIFF_TRY(const auto target, Target::parse(host.contains(':') ? host : host + ":" + std::to_string(kHttpsPort)));
    const auto [place, is_new] = by_target_.emplace(target.text(), secret);
    if (is_new || place->second == secret) continue;
    return fail(Errc::invalid_field,
                std::string{"--egress-secret: "}
                    .append(place->second)
                    .append(" and ")
                    .append(secret)
                    .append(" are both for ")
                    .append(target.text())
                    .append(": name one of them"),
                "--egress-secret");
  }
  return {};
}

const std::string* SecretHosts::find(const Target& target) const {
  const auto found = target.is_plain ? by_target_.end() : by_target_.find(target.text());
  return found == by_target_.end() ? nullptr : &found->second;
}

std::vector<std::string> SecretHosts::rules() const {
  std::vector<std::string> all;
  for (const auto& [target, secret] : by_target_) all.push_back(target);
  return all;
}

std::vector<std::string> names_of(const std::vector<std::string>& hosts) {
  std::set<std::string> names;
  for (const std::string& host : hosts) names.insert(host.substr(0, host.rfind(':')));
  return {names.begin(), names.end()};
}

}  // namespace skiff::container::egress
