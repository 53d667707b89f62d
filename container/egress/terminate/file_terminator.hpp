#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "container/egress/terminate/authority.hpp"
#include "container/egress/terminate/secret_hosts.hpp"
#include "container/egress/terminate/server_trust.hpp"
#include "container/egress/terminate/terminator.hpp"

namespace skiff::container::egress {

/// The terminator of a box: its secrets are files of this machine, and one certificate authority signs for all of their
/// hosts, which stay those of its start.
class FileTerminator final : public Terminator {
 public:
  /// These secrets must exist, and no two may be for one host and port.
  [[nodiscard]] static Result<std::unique_ptr<FileTerminator>> create(SecretStore store,
                                                                      const std::vector<std::string>& names);

  /// The certificate that the sandbox has to trust.
  [[nodiscard]] const std::string& ca_pem() const noexcept { return authority_->pem(); }
  [[nodiscard]] bool terminates(const Target& target) const override { return hosts_.find(target) != nullptr; }
  [[nodiscard]] Result<std::shared_ptr<protocol::TlsContext>> server(const Target& target) override;
  [[nodiscard]] Result<Secret> secret(const Target& target) const override;
  [[nodiscard]] std::map<std::string, std::string> placeholders() const override { return placeholders_; }
  [[nodiscard]] Result<std::shared_ptr<protocol::TlsContext>> client(const Secret& secret) override;

 private:
  explicit FileTerminator(SecretStore store) : store_{std::move(store)} {}

  SecretStore store_;
  SecretHosts hosts_;
  std::map<std::string, std::string> placeholders_;  ///< those of its start, which its commands have
  std::unique_ptr<Authority> authority_;
  ServerTrust trust_;
};

/// Returns the rules of hosts that these secrets are for, with the errors of `FileTerminator::create`.
[[nodiscard]] Result<std::vector<std::string>> rules_of_secrets(const SecretStore& store,
                                                                const std::vector<std::string>& names);
/// Returns the variables of commands that have a placeholder.
[[nodiscard]] Result<std::map<std::string, std::string>> variables_of_secrets(const SecretStore& store,
                                                                              const std::vector<std::string>& names);

}  // namespace skiff::container::egress
