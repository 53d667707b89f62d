#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/ip/address.hpp>

#include "base/error.hpp"
#include "protocol/http/server/exchange.hpp"

namespace skiff::runtime {

/// The fields of a request's head that say which page a browser shows. The texts are those of the request.
struct BrowserHead {
  std::string_view method;
  std::optional<std::string_view> host = {};  ///< absent: HTTP/1.0, no browser
  std::optional<std::string_view> origin = {};
  /// Our address on the connection; absent on a Unix socket, which no browser reaches.
  std::optional<boost::asio::ip::address> local = {};
  bool is_tls = false;
  bool is_upgrade = false;
  bool is_preflight = false;            ///< a browser asks if a page may send something; it shows no credential
  std::string_view wanted_fields = {};  ///< of a preflight: the fields that the page wants to send

  [[nodiscard]] static BrowserHead of(const protocol::HttpExchange& http);
};

/// What the guard says of a request that passes.
struct Verdict {
  protocol::Headers fields = {};                         ///< every answer to the request has these, errors included
  std::optional<protocol::HttpResponse> preflight = {};  ///< the whole answer to a preflight that is allowed
};

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

  enum class Checks : unsigned char {
    host,    ///< Host alone
    origin,  ///< Host and Origin
    answer,  ///< the same, and whether the page may read the answer (Fetch, 3.2: CORS)
  };
  /// Judges a request by its head. Errors: host_not_allowed, origin_not_allowed.
  [[nodiscard]] Result<Verdict> judge(const BrowserHead& head, Checks checks) const;

  /// `host` is the value of Host (absent: HTTP/1.0, no browser). Accepted: localhost and names below it, loopback
  /// addresses, `local` (the address the connection came in on; absent for a Unix socket, where any Host passes), and
  /// the list. Errors: host_not_allowed.
  [[nodiscard]] Result<> check_host(std::optional<std::string_view> host,
                                    const std::optional<boost::asio::ip::address>& local) const;

  /// For WebSocket upgrades and methods that change state: an Origin, if there is one, must be `scheme` ("http" or
  /// "https", as the connection is) + `host`, or be listed. "null" is refused. Errors: origin_not_allowed.
  [[nodiscard]] Result<> check_origin(std::optional<std::string_view> origin, std::string_view scheme,
                                      std::optional<std::string_view> host) const;

 private:
  /// Whether pages of this origin may also read the answers. The agent's own origin needs no leave.
  [[nodiscard]] bool lists_origin(std::string_view origin) const;

  bool any_host_ = false;
  bool cluster_names_ = false;
  std::vector<std::string> hosts_;     // lower case, no port
  std::vector<std::string> suffixes_;  // ".suffix"
  std::vector<std::string> origins_;   // lower case, default port left out
};

}  // namespace skiff::runtime
