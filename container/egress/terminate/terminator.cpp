#include "container/egress/terminate/terminator.hpp"

#include <set>
#include <utility>

#include "container/egress/policy.hpp"

namespace skiff::container::egress {
namespace {

constexpr std::size_t kMostSecrets = 16;

/// HOST:PORT of each rule of a secret.
std::vector<Target> targets_of(const Secret& secret) {
  std::vector<Target> targets;
  for (const std::string& host : secret.hosts) {
    auto target = Target::parse(host.contains(':') ? host : host + ":" + std::to_string(kHttpsPort));
    if (target) targets.push_back(std::move(*target));
  }
  return targets;
}

/// The secret for each HOST:PORT.
Result<std::map<std::string, std::string>> names_by_target(const SecretStore& store,
                                                           const std::vector<std::string>& names) {
  if (names.size() > kMostSecrets) {
    return fail(Errc::invalid_field, "--egress-secret: at most " + std::to_string(kMostSecrets) + " secrets",
                "--egress-secret");
  }
  std::map<std::string, std::string> found;
  for (const std::string& name : std::set<std::string>{names.begin(), names.end()}) {
    SKIFF_TRY(const auto secret, store.get(name));
    for (const Target& target : targets_of(secret)) {
      const auto [place, is_new] = found.emplace(target.text(), name);
      if (is_new || place->second == name) continue;
      return fail(Errc::invalid_field,
                  std::string{"--egress-secret: "}
                      .append(place->second)
                      .append(" and ")
                      .append(name)
                      .append(" are both for ")
                      .append(target.text())
                      .append(": name one of them"),
                  "--egress-secret");
    }
  }
  return found;
}

}  // namespace

Result<std::unique_ptr<Terminator>> Terminator::create(SecretStore store, const std::vector<std::string>& names) {
  std::unique_ptr<Terminator> made{new Terminator{std::move(store)}};
  SKIFF_TRY(made->names_, names_by_target(made->store_, names));
  for (const auto& [target, name] : made->names_) {
    SKIFF_TRY(const auto secret, made->store_.get(name));
    if (!secret.placeholder.empty()) made->placeholders_.emplace(name, secret.placeholder);
  }
  std::set<std::string> hosts;
  for (const auto& [target, name] : made->names_) hosts.insert(target.substr(0, target.rfind(':')));
  SKIFF_TRY(made->authority_, Authority::create({hosts.begin(), hosts.end()}));
  return made;
}

const std::string* Terminator::name_for(const Target& target) const {
  const auto found = target.is_plain ? names_.end() : names_.find(target.text());
  return found == names_.end() ? nullptr : &found->second;
}

Result<std::shared_ptr<protocol::TlsContext>> Terminator::server(const Target& target) {
  return authority_->server(target.host);
}

Result<Secret> Terminator::secret(const Target& target) const {
  const std::string* const name = name_for(target);
  if (name == nullptr) return fail(Errc::not_found, "no secret is for " + target.text());
  SKIFF_TRY(auto found, store_.get(*name));
  if (found.is_for(target)) return found;
  return fail(Errc::not_found, "the secret \"" + *name + "\" is no longer for " + target.text());
}

Result<std::shared_ptr<protocol::TlsContext>> Terminator::client(const Secret& secret) {
  Trust& trust = trusted_[secret.name];
  if (trust.context && trust.ca_pem == secret.ca_pem) return trust.context;
  SKIFF_TRY(auto context, protocol::TlsContext::client({.further_ca_pem = secret.ca_pem, .resumes = true}));
  trust = {.ca_pem = secret.ca_pem, .context = context};
  return context;
}

Result<std::vector<std::string>> rules_of_secrets(const SecretStore& store, const std::vector<std::string>& names) {
  SKIFF_TRY(const auto found, names_by_target(store, names));
  std::vector<std::string> rules;
  for (const auto& [target, name] : found) rules.push_back(target);
  return rules;
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
