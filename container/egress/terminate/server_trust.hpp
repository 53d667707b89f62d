#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>

#include "base/error.hpp"
#include "protocol/net/tls.hpp"

namespace skiff::container::egress {

/// Contexts for TLS to servers. One takes megabytes, so those who trust the same share it.
class ServerTrust {
 public:
  static constexpr std::size_t kKept = 16;

  /// The context that trusts the system's certificates and these (PEM; may be empty).
  [[nodiscard]] Result<std::shared_ptr<protocol::TlsContext>> with(const std::string& ca_pem);

 private:
  std::map<std::string, std::shared_ptr<protocol::TlsContext>> kept_;
};

}  // namespace skiff::container::egress
