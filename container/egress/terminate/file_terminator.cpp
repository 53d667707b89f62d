#include "container/egress/terminate/file_terminator.hpp"

#include <utility>

namespace skiff::container::egress {
namespace {

Result<SecretHosts> hosts_of(const SecretStore& store, const std::vector<std::string>& names) {
  SecretHosts hosts;
  for (const std::string& name : names) {
    SKIFF_TRY(const auto secret, store.get(name));
    SKIFF_TRY_VOID(hosts.add(name, secret.hosts));
  }
  return hosts;
}

}  // namespace

Result<std::unique_ptr<FileTerminator>> FileTerminator::create(SecretStore store,
                                                               const std::vector<std::string>& names) {
  std::unique_ptr<FileTerminator> made{new FileTerminator{std::move(store)}};
  SKIFF_TRY(made->hosts_, hosts_of(made->store_, names));
  for (const std::string& name : names) {
    SKIFF_TRY(const auto secret, made->store_.get(name));
    if (!secret.placeholder.empty()) made->placeholders_.emplace(name, secret.placeholder);
  }
  SKIFF_TRY(made->authority_, Authority::create(names_of(made->hosts_.rules())));
  return made;
}

Result<std::shared_ptr<protocol::TlsContext>> FileTerminator::server(const Target& target) {
  return authority_->server(target.host);
}

Result<Secret> FileTerminator::secret(const Target& target) const {
  const std::string* const name = hosts_.find(target);
  if (name == nullptr) return fail(Errc::not_found, "no secret is for " + target.text());
  SKIFF_TRY(auto found, store_.get(*name));
  if (found.is_for(target)) return found;
  return fail(Errc::not_found, "the secret \"" + *name + "\" is no longer for " + target.text());
}

Result<std::shared_ptr<protocol::TlsContext>> FileTerminator::client(const Secret& secret) {
  return trust_.with(secret.ca_pem);
}

Result<std::vector<std::string>> rules_of_secrets(const SecretStore& store, const std::vector<std::string>& names) {
  SKIFF_TRY(const auto hosts, hosts_of(store, names));
  return hosts.rules();
}

Result<std::map<std::string, std::string>> variables_of_secrets(const SecretStore& store,
                                                                const std::vector<std::string>& names) {
  std::map<std::string, std::string> variables;
  for (const std::string& name : names) {
    SKIFF_TRY(const auto secret, store.get(name));
    if (!secret.variable.empty()) variables.emplace(secret.variable, secret.placeholder);
  }
  return variables;
}

}  // namespace skiff::container::egress
