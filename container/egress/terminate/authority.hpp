#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "protocol/net/tls.hpp"

namespace skiff::container::egress {

/// A certificate authority: that of one box, whose key (EC P-256) is in the memory of its proxy alone, or that of one
/// secret in a cluster. Its certificate is good for these hosts and no others (RFC 5280, 4.2.1.10).
class Authority {
 public:
  /// Each host is in the form of `host_name`.
  [[nodiscard]] static Result<std::unique_ptr<Authority>> create(const std::vector<std::string>& hosts);
  /// The authority of this certificate and its key, both PEM. `invalid_field` if they do not belong together.
  [[nodiscard]] static Result<std::unique_ptr<Authority>> load(const std::string& pem, const std::string& key_pem,
                                                               const std::vector<std::string>& hosts);
  ~Authority();
  Authority(const Authority&) = delete;
  Authority& operator=(const Authority&) = delete;

  /// Its certificate, PEM.
  [[nodiscard]] const std::string& pem() const noexcept { return pem_; }
  /// Its key, PEM.
  [[nodiscard]] std::string key_pem() const;
  /// A server's context with a certificate for this host, made at the first call. `not_found` for a host that is none
  /// of its own.
  [[nodiscard]] Result<std::shared_ptr<protocol::TlsContext>> server(const std::string& host);

 private:
  struct Parts;
  Authority(std::unique_ptr<Parts> parts, const std::vector<std::string>& hosts);
  struct Leaf {
    SteadyTime until;
    std::shared_ptr<protocol::TlsContext> context;
  };

  std::unique_ptr<Parts> parts_;
  std::string pem_;
  std::map<std::string, Leaf> leafs_;  ///< one for each of its hosts; null until it is asked for
};

}  // namespace skiff::container::egress
