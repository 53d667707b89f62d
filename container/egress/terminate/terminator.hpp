#pragma once

#include <map>
#include <memory>

#include "base/error.hpp"
#include "container/egress/host_name.hpp"
#include "container/egress/terminate/secret.hpp"
#include "protocol/net/tls.hpp"

namespace skiff::container::egress {

/// The hosts whose TLS the proxy of a sandbox terminates, because a secret is for them. Values are those of the moment,
/// so a secret that is changed or removed counts at once.
class Terminator {
 public:
  Terminator() = default;
  virtual ~Terminator() = default;
  Terminator(const Terminator&) = delete;
  Terminator& operator=(const Terminator&) = delete;

  [[nodiscard]] virtual bool terminates(const Target& target) const = 0;
  /// The context for the side of the sandbox. `not_found` if nobody can sign for that host, as without its secret.
  [[nodiscard]] virtual Result<std::shared_ptr<protocol::TlsContext>> server(const Target& target) = 0;
  /// The secret for this host. `not_found` if it was removed, or is for others now.
  [[nodiscard]] virtual Result<Secret> secret(const Target& target) const = 0;
  /// The placeholder of each of the sandbox's secrets that has one, by its name.
  [[nodiscard]] virtual std::map<std::string, std::string> placeholders() const = 0;
  /// The context for the side of the server.
  [[nodiscard]] virtual Result<std::shared_ptr<protocol::TlsContext>> client(const Secret& secret) = 0;
};

}  // namespace skiff::container::egress
