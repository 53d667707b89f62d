#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/ip/address.hpp>

#include "base/error.hpp"

namespace skiff::runtime {

/// Keeps web pages away that a browser on the same machine or network happens to show: one whose own name was made to
/// resolve to the agent's address (DNS rebinding), and one of another origin. Programs other than browsers pass.
class BrowserGuard {
 public:
  /// `hosts`: names, "*.suffix" (any name below it, not itself) or "*"; a port, if given, is not compared. `origins`:
  /// "scheme://host[:port]". Errors: invalid_field for one that has neither form.
  [[nodiscard]] static Result<BrowserGuard> create(const std::vector<std::string>& hosts,
                                                   const std::vector<std::string>& origins);

  /// The same for a port that is found by the names of a cluster, and asks nobody for a credential: addresses as
  /// numbers pass, names without a dot and those below .svc and .cluster.local, none of which the owner of a web page
  /// can have.
  /// "*" does not count: without a credential nothing else keeps a page away.
  [[nodiscard]] BrowserGuard with_cluster_names() const;

  /// `host` is the value of Host (absent: HTTP/1.0, no browser). Accepted: localhost and names below it, loopback
  /// addresses, `local` (the address the connection came in on; absent for a Unix socket, where any Host passes), and
  /// the list. Errors: host_not_allowed.
  [[nodiscard]] Result<> check_host(std::optional<std::string_view> host,
                                    const std::optional<boost::asio::ip::address>& local) const;

  /// For WebSocket upgrades and methods that change state: an Origin, if there is one, must be `scheme` ("http" or
  /// "https", as the connection is) + `host`, or be listed. "null" is refused. Errors: origin_not_allowed.
  [[nodiscard]] Result<> check_origin(std::optional<std::string_view> origin, std::string_view scheme,
                                      std::optional<std::string_view> host) const;

  /// Whether the list has it: its pages may also read the answers. Not so the agent's own origin, which needs no leave.
  [[nodiscard]] bool lists_origin(std::string_view origin) const;
  [[nodiscard]] bool lists_any_origin() const noexcept { return !origins_.empty(); }

 private:
  bool any_host_ = false;
  bool cluster_names_ = false;
  std::vector<std::string> hosts_;     // lower case, no port
  std::vector<std::string> suffixes_;  // ".suffix"
  std::vector<std::string> origins_;   // lower case, default port left out
};

/// True for methods that only read (RFC 9110 section 9.2.1): an Origin does not matter then, unless it is an upgrade.
[[nodiscard]] bool is_safe_method(std::string_view method) noexcept;

}  // namespace skiff::runtime
