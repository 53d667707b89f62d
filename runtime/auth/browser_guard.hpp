#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/ip/address.hpp>

#include "base/error.hpp"
#include "protocol/http/server/exchange.hpp"

namespace skiff::runtime {

/// The parts of a request's head that identify the page in a browser. The texts refer to the request.
struct BrowserHead {
  std::string_view method;
  std::optional<std::string_view> host = {};  ///< absent: HTTP/1.0, no browser
  std::optional<std::string_view> origin = {};
  /// The agent's address on the connection; absent on a Unix socket, which no browser reaches.
  std::optional<boost::asio::ip::address> local = {};
  bool is_tls = false;
  bool is_upgrade = false;
  bool is_preflight = false;            ///< a browser asks whether a page may send a request; it has no credential
  std::string_view wanted_fields = {};  ///< in a preflight: the header fields that the page wants to send

  [[nodiscard]] static BrowserHead of(const protocol::HttpExchange& http);
};

/// The verdict on a request that passes.
struct Verdict {
  protocol::Headers fields = {};  ///< header fields for every answer to the request, including errors
  std::optional<protocol::HttpResponse> preflight = {};  ///< the whole answer to an allowed preflight
};

/// Refuses requests of web pages in a browser on the same machine or network: of pages whose name was made to resolve
/// to the agent's address (DNS rebinding), and of pages of another origin. Programs other than browsers pass.
class BrowserGuard {
 public:
  /// `hosts`: names, "*.suffix" (any name below it, not itself) or "*"; a port, if given, is not compared. `origins`:
  /// "scheme://host[:port]". Errors: invalid_field for an invalid host or origin.
  [[nodiscard]] static Result<BrowserGuard> create(const std::vector<std::string>& hosts,
                                                   const std::vector<std::string>& origins);

  /// A copy for a port that clients reach by the names of a cluster, and that requires no credential. IP addresses,
  /// names without a dot, and names below .svc and .cluster.local pass: the owner of a web page cannot have any of
  /// these. "*" does not count, because without a credential nothing else keeps a page away.
  [[nodiscard]] BrowserGuard with_cluster_names() const;

  enum class Checks : unsigned char {
    origin,   ///< Host and Origin
    answer,   ///< Host, Origin, and whether the page may read the answer (Fetch, 3.2: CORS)
    reading,  ///< Host, and whether the page may read the answer
  };
  /// Checks a request by its head. Errors: host_not_allowed, origin_not_allowed.
  [[nodiscard]] Result<Verdict> judge(const BrowserHead& head, Checks checks) const;

  /// `host` is the value of Host (absent: HTTP/1.0, no browser). It accepts localhost and names below it, loopback
  /// addresses, `local` (the agent's address on the connection; absent for a Unix socket, where any Host passes), and
  /// the listed names. Errors: host_not_allowed.
  [[nodiscard]] Result<> check_host(std::optional<std::string_view> host,
                                    const std::optional<boost::asio::ip::address>& local) const;

  /// Checks the Origin of WebSocket upgrades and of methods that change state. An Origin, if present, must be `scheme`
  /// ("http" or "https", by the connection) + `host`, or be listed. "null" is refused. Errors: origin_not_allowed.
  [[nodiscard]] Result<> check_origin(std::optional<std::string_view> origin, std::string_view scheme,
                                      std::optional<std::string_view> host) const;

 private:
  /// Whether the origin is listed, so that its pages may also read the answers. The agent's own origin needs no
  /// permission.
  [[nodiscard]] bool lists_origin(std::string_view origin) const;

  bool any_host_ = false;
  bool cluster_names_ = false;
  std::vector<std::string> hosts_;     // lower case, no port
  std::vector<std::string> suffixes_;  // ".suffix"
  std::vector<std::string> origins_;   // lower case, default port left out
};

}  // namespace skiff::runtime
