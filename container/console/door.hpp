#pragma once

#include <set>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "protocol/http/message.hpp"

namespace skiff::container::console {

/// Decides which requests come from the console's own page in the browser of the user who has the link. Everything ends
/// with the process.
///
/// Browsers send a cookie to every port of its host, so the console has a host name of its own, which nobody can guess:
/// programs on other ports of this machine never see the cookie. The name is below localhost, which browsers resolve to
/// loopback (RFC 6761, 6.3).
class Door {
 public:
  Door();

  /// The name of the console's host, without a port.
  [[nodiscard]] const std::string& host() const noexcept { return host_; }
  /// The secret of the link.
  [[nodiscard]] const std::string& secret() const noexcept { return secret_; }

  /// `host_not_allowed` unless Host is the console's name, or a name or address of loopback that no page can own. The
  /// port is not compared, so the console can be reached through a tunnel.
  [[nodiscard]] Result<> check_host(const protocol::HttpRequest& request) const;

  /// Spends the link and returns the field Set-Cookie. `unauthenticated` for a wrong secret, and for a second use.
  [[nodiscard]] Result<std::string> open(std::string_view secret);

  /// `unauthenticated` unless the request shows a cookie of `open`, and the error of `check_own_script`.
  [[nodiscard]] Result<> admit(const protocol::HttpRequest& request) const;

 private:
  std::string host_;
  std::string secret_;
  bool is_spent_ = false;
  std::set<std::string, std::less<>> cookies_;  ///< digests
};

}  // namespace skiff::container::console
