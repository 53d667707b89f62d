#include "container/egress/names/wildcard_names.hpp"

namespace skiff::container::egress {

bool WildcardNames::take(const std::string& wildcard, const std::string& host, SteadyTime now) {
  Window& window = windows_[wildcard];
  if (window.end <= now) window = {.end = now + kWindow, .names = {}};
  if (window.names.contains(host)) return true;
  if (window.names.size() >= kMost) return false;
  window.names.insert(host);
  return true;
}

std::optional<Refusal> WildcardNames::judge(const Policy& policy, const Target& target) {
  const std::string wildcard = policy.wildcard_of(target.host, target.port, target.is_plain);
  if (wildcard.empty() || take(wildcard, target.host, std::chrono::steady_clock::now())) return std::nullopt;
  return Refusal{429, "too_many_names",
                 "this sandbox has asked for " + std::to_string(kMost) + " names below " + wildcard +
                     " within a minute: a rule that names " + target.host + " itself has no such limit"};
}

}  // namespace skiff::container::egress
