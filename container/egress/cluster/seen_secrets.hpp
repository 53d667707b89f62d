#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "container/egress/terminate/authority.hpp"
#include "container/egress/terminate/secret.hpp"
#include "container/egress/terminate/server_trust.hpp"
#include "container/kube/objects/object.hpp"
#include "protocol/net/tls.hpp"

namespace skiff::container::egress {

/// The secrets of a tenant, as the watch of the proxy's own namespace tells of them.
class SeenSecrets {
 public:
  /// A damaged one is none.
  void put(const kube::Object& secret);
  void erase(std::string_view object_name);
  /// Erases all whose objects are not among these.
  void keep(const std::set<std::string>& object_names);
  [[nodiscard]] std::size_t size() const noexcept { return seen_.size(); }

  /// The secret as it is now, if it is for this host. Else `not_found`.
  [[nodiscard]] Result<Secret> secret(const std::string& name, const Target& target) const;
  /// The context with a certificate of that secret's authority. `not_found` as of `secret`.
  [[nodiscard]] Result<std::shared_ptr<protocol::TlsContext>> server(const std::string& name, const Target& target);
  /// The placeholders of those of these secrets that have one.
  [[nodiscard]] std::map<std::string, std::string> placeholders(const std::set<std::string>& names) const;
  /// The context for the side of the server.
  [[nodiscard]] Result<std::shared_ptr<protocol::TlsContext>> client(const Secret& secret) {
    return trust_.with(secret.ca_pem);
  }

 private:
  struct Seen {
    Secret secret;
    std::string ca_pem;
    std::unique_ptr<Authority> authority;
  };

  std::map<std::string, Seen, std::less<>> seen_;  ///< by the name of its object
  ServerTrust trust_;
};

}  // namespace skiff::container::egress
