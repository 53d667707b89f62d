#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "container/egress/host_name.hpp"
#include "container/egress/terminate/authority.hpp"
#include "container/egress/terminate/secret.hpp"
#include "protocol/net/tls.hpp"

namespace skiff::container::egress {

/// The hosts whose TLS the proxy of a sandbox terminates, because a secret is for them. Values are read anew for each
/// request, so a secret that is changed or removed counts at once.
class Terminator {
 public:
  /// These secrets must exist, and no two may be for one host and port.
  [[nodiscard]] static Result<std::unique_ptr<Terminator>> create(SecretStore store,
                                                                  const std::vector<std::string>& names);

  [[nodiscard]] bool terminates(const Target& target) const { return name_for(target) != nullptr; }
  /// The certificate that the sandbox has to trust.
  [[nodiscard]] const std::string& ca_pem() const noexcept { return authority_->pem(); }
  /// The context for the side of the sandbox.
  [[nodiscard]] Result<std::shared_ptr<protocol::TlsContext>> server(const Target& target);
  /// The secret for this host, as it is now. Errors: those of `SecretStore::get`; `not_found` if it is for others now.
  [[nodiscard]] Result<Secret> secret(const Target& target) const;
  /// The placeholder of each secret that had one at the beginning, by its name.
  [[nodiscard]] const std::map<std::string, std::string>& placeholders() const noexcept { return placeholders_; }
  /// The context for the side of the server.
  [[nodiscard]] Result<std::shared_ptr<protocol::TlsContext>> client(const Secret& secret);

 private:
  struct Trust {
    std::string ca_pem;
    std::shared_ptr<protocol::TlsContext> context;
  };

  explicit Terminator(SecretStore store) : store_{std::move(store)} {}
  [[nodiscard]] const std::string* name_for(const Target& target) const;

  SecretStore store_;
  std::map<std::string, std::string> names_;  ///< the secret by HOST:PORT
  std::map<std::string, std::string> placeholders_;
  std::unique_ptr<Authority> authority_;
  std::map<std::string, Trust> trusted_;  ///< by the secret
};

/// Returns the rules of hosts that these secrets are for, with the errors of `Terminator::create`.
[[nodiscard]] Result<std::vector<std::string>> rules_of_secrets(const SecretStore& store,
                                                                const std::vector<std::string>& names);
/// Returns the variables of commands that have a placeholder.
[[nodiscard]] Result<std::map<std::string, std::string>> variables_of_secrets(const SecretStore& store,
                                                                              const std::vector<std::string>& names);

}  // namespace skiff::container::egress
