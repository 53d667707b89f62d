#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace skiff::kube {

/// The parts of an http or https URL (RFC 3986) that a connection needs, or of a proxy's.
struct Url {
  bool tls = true;
  bool socks = false;         ///< of a proxy: it speaks SOCKS 5, without TLS
  std::string host = {};      ///< a name, or an address literal without brackets
  std::uint16_t port = 0;     ///< 443 or 80 when the URL names none
  std::string path = {};      ///< without a slash at its end; empty for the root
  std::string user = {};      ///< decoded
  std::string password = {};  ///< decoded

  /// "host:port" with brackets where an IPv6 address needs them.
  [[nodiscard]] std::string authority() const;
  /// Without user and password.
  [[nodiscard]] std::string text() const;
};

/// `what` names the setting in the message: "the server of cluster "a"". A text without a scheme counts as https, as
/// kubectl has it. Errors: `invalid_field`; the message never repeats a password.
[[nodiscard]] Result<Url> parse_url(std::string_view text, std::string_view what);

/// The same of a proxy, which may be socks5:// or socks5h:// as well; without a scheme it counts as http.
[[nodiscard]] Result<Url> parse_proxy(std::string_view text, std::string_view what);

}  // namespace skiff::kube
