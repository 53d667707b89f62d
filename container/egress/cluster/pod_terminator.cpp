#include "container/egress/cluster/pod_terminator.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "container/cluster/egress/objects.hpp"

namespace skiff::container::egress {

bool PodTerminator::use(std::string_view annotation) {
  hosts_ = {};
  if (annotation.empty()) return true;
  if (annotation.size() > kLargestEgressPolicy) return false;
  const auto named = nlohmann::json::parse(annotation, nullptr, false);
  if (!named.is_object()) return false;
  SecretHosts hosts;
  for (const auto& [secret, servers] : named.items()) {
    const bool is_list =
        servers.is_array() && std::ranges::all_of(servers, [](const auto& one) { return one.is_string(); });
    if (!is_list || !hosts.add(secret, servers.get<std::vector<std::string>>())) return false;
  }
  hosts_ = std::move(hosts);
  return true;
}

Result<std::string> PodTerminator::name_for(const Target& target) const {
  if (const std::string* const name = hosts_.find(target)) return *name;
  return fail(Errc::not_found, "this sandbox has no secret for " + target.text() + " any more");
}

Result<std::shared_ptr<protocol::TlsContext>> PodTerminator::server(const Target& target) {
  SKIFF_TRY(const auto name, name_for(target));
  return secrets_->server(name, target);
}

Result<Secret> PodTerminator::secret(const Target& target) const {
  SKIFF_TRY(const auto name, name_for(target));
  return secrets_->secret(name, target);
}

}  // namespace skiff::container::egress
