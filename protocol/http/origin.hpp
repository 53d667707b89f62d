#pragma once

#include <optional>
#include <string>
#include <string_view>

/// Origins of web pages (RFC 6454), as browsers write them in Origin.
namespace skiff::protocol {

/// The two parts of `uri-host [":" port]` (RFC 9110, 7.2); the host is in lower case, without brackets and final dot.
struct Authority {
  std::string host;
  std::string port;
  bool bracketed = false;
};

/// Returns nothing for an invalid text, or one with user information.
[[nodiscard]] std::optional<Authority> parse_authority(std::string_view text);

/// Returns a text that is equal for equal origins: "scheme://host[:port]" in lower case, without the scheme's default
/// port. Returns nothing for "null", a list, or a URL with further parts.
[[nodiscard]] std::optional<std::string> normal_origin(std::string_view text);

/// Whether `origin` is that of the pages at `host` (the value of a Host field).
[[nodiscard]] bool is_origin_of(std::string_view origin, std::string_view scheme, std::string_view host);

}  // namespace skiff::protocol
