#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace skiff::container::egress {

/// The port of a rule that names none.
inline constexpr std::uint16_t kHttpsPort = 443;
/// And of one for plain HTTP.
inline constexpr std::uint16_t kHttpPort = 80;

/// A DNS name in the one form that is compared: lower case, without the dot at its end. nullopt for what is none:
/// empty or long labels, other letters than those of DNS (so Unicode only as xn--), and all forms of an IP address,
/// whose last part is a number, also hexadecimal or octal.
[[nodiscard]] std::optional<std::string> host_name(std::string_view text);

/// A port of 1 to 65535, in digits without a leading zero.
[[nodiscard]] std::optional<std::uint16_t> port_number(std::string_view text);

/// The server that a client asks for.
struct Target {
  std::string host;  ///< in the form of `host_name`
  std::uint16_t port = 0;
  bool is_plain = false;  ///< requests of HTTP without TLS

  /// Parses HOST:PORT of CONNECT. `invalid_request` says what is wrong.
  [[nodiscard]] static Result<Target> parse(std::string_view text);
  /// Parses HOST or HOST:PORT of an `http://` URL.
  [[nodiscard]] static Result<Target> plain(std::string_view authority);
  [[nodiscard]] std::string text() const { return host + ":" + std::to_string(port); }
};

}  // namespace skiff::container::egress
