#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "container/egress/cluster/seen_secrets.hpp"
#include "container/egress/terminate/secret_hosts.hpp"
#include "container/egress/terminate/terminator.hpp"

namespace skiff::container::egress {

/// The terminator of a Pod. Its annotation says for which hosts it expects which secret. Whether the secret is for such
/// a host is decided by the secret alone: who may write Pods cannot send it elsewhere.
class PodTerminator final : public Terminator {
 public:
  /// `secrets` outlives it.
  explicit PodTerminator(SeenSecrets* secrets) : secrets_{secrets} {}

  /// Takes the annotation: a JSON object with the hosts of each secret. False if it cannot be read: then nothing is
  /// known of what the Pod expects.
  [[nodiscard]] bool use(std::string_view annotation);

  [[nodiscard]] bool terminates(const Target& target) const override { return hosts_.find(target) != nullptr; }
  [[nodiscard]] Result<std::shared_ptr<protocol::TlsContext>> server(const Target& target) override;
  [[nodiscard]] Result<Secret> secret(const Target& target) const override;
  [[nodiscard]] std::map<std::string, std::string> placeholders() const override {
    return secrets_->placeholders(hosts_.secrets());
  }
  [[nodiscard]] Result<std::shared_ptr<protocol::TlsContext>> client(const Secret& secret) override {
    return secrets_->client(secret);
  }

 private:
  [[nodiscard]] Result<std::string> name_for(const Target& target) const;

  SeenSecrets* secrets_;
  SecretHosts hosts_;
};

}  // namespace skiff::container::egress
