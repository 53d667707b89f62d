#include "container/egress/cluster/seen_secrets.hpp"

#include <utility>

#include "base/log/log.hpp"
#include "base/small_file.hpp"
#include "container/cluster/egress/secret_objects.hpp"
#include "container/egress/terminate/secret_hosts.hpp"

namespace skiff::container::egress {
namespace {

Result<std::unique_ptr<Authority>> authority_of(const EgressSecret& one) {
  SecretHosts hosts;
  SKIFF_TRY_VOID(hosts.add(one.secret.name, one.secret.hosts));
  return Authority::load(one.ca_pem, one.key_pem, names_of(hosts.rules()));
}

}  // namespace

void SeenSecrets::put(const kube::Object& secret) {
  // `skiff secret set` makes no more; others may have made them.
  if (seen_.size() >= SecretStore::kMost && !seen_.contains(secret.name())) {
    log::warning("there are too many secrets: this one is not used", {{"secret", secret.name()}});
    return;
  }
  auto read = read_egress_secret(secret);
  auto authority = read ? authority_of(*read) : std::unexpected{read.error()};
  if (!authority) {
    log::warning("a secret cannot be used", {{"secret", secret.name()}, {"error", authority.error().message}});
    return erase(secret.name());
  }
  wipe(read->key_pem);
  Seen& seen = seen_[secret.name()];
  // The certificates for its hosts stay as long as their authority does.
  const bool is_same = seen.authority && seen.ca_pem == read->ca_pem && seen.secret.hosts == read->secret.hosts;
  if (!is_same) seen.authority = std::move(*authority);
  wipe(seen.secret.value);
  seen.secret = std::move(read->secret);
  seen.ca_pem = std::move(read->ca_pem);
}

void SeenSecrets::erase(std::string_view object_name) {
  const auto found = seen_.find(object_name);
  if (found == seen_.end()) return;
  wipe(found->second.secret.value);
  seen_.erase(found);
}

void SeenSecrets::keep(const std::set<std::string>& object_names) {
  for (auto at = seen_.begin(); at != seen_.end();) {
    const std::string name = at->first;
    ++at;
    if (!object_names.contains(name)) erase(name);
  }
}

Result<Secret> SeenSecrets::secret(const std::string& name, const Target& target) const {
  const auto found = seen_.find(egress_secret_name(name));
  if (found == seen_.end()) {
    return fail(Errc::not_found, "secret \"" + name + "\" not found: skiff secret set creates it from stdin");
  }
  if (found->second.secret.is_for(target)) return found->second.secret;
  return fail(Errc::not_found, "the secret \"" + name + "\" is not for " + target.text());
}

std::map<std::string, std::string> SeenSecrets::placeholders(const std::set<std::string>& names) const {
  std::map<std::string, std::string> all;
  for (const std::string& name : names) {
    const auto found = seen_.find(egress_secret_name(name));
    if (found == seen_.end() || found->second.secret.placeholder.empty()) continue;
    all.emplace(name, found->second.secret.placeholder);
  }
  return all;
}

Result<std::shared_ptr<protocol::TlsContext>> SeenSecrets::server(const std::string& name, const Target& target) {
  SKIFF_TRY_VOID(secret(name, target));
  return seen_.find(egress_secret_name(name))->second.authority->server(target.host);
}

}  // namespace skiff::container::egress
