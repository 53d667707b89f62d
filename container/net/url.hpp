#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace skiff::net {

/// The parts of a server's http or https URL (RFC 3986), or of a proxy's URL, that a connection needs.
struct Url {
  bool tls = true;
  bool socks = false;         ///< the URL is that of a SOCKS 5 proxy, without TLS
  std::string host = {};      ///< a name, or an address literal without brackets
  std::uint16_t port = 0;     ///< 443 or 80 when the URL names none
  std::string path = {};      ///< without a slash at its end; empty for the root
  std::string user = {};      ///< decoded
  std::string password = {};  ///< decoded

  /// "host:port", with brackets around an IPv6 address.
  [[nodiscard]] std::string authority() const;
  /// The URL without user and password.
  [[nodiscard]] std::string text() const;
};

/// `what` names the setting in the message: "the server of cluster "a"". A text without a scheme counts as https, as in
/// kubectl. Errors: `invalid_field`; the message never repeats a password.
[[nodiscard]] Result<Url> parse_url(std::string_view text, std::string_view what);

/// Parses the URL of a proxy, which may also be socks5:// or socks5h://; without a scheme it counts as http.
[[nodiscard]] Result<Url> parse_proxy(std::string_view text, std::string_view what);

}  // namespace skiff::net
