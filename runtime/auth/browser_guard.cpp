#include "runtime/auth/browser_guard.hpp"

#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "protocol/http/origin.hpp"

namespace skiff::runtime {
namespace {

using boost::asio::ip::address;
using protocol::normal_origin;
using protocol::parse_authority;

/// Unmaps an IPv4-mapped address, which a socket for both families shows for IPv4.
address unmapped(const address& ip) {
  if (ip.is_v6() && ip.to_v6().is_v4_mapped()) {
    return boost::asio::ip::make_address_v4(boost::asio::ip::v4_mapped, ip.to_v6());
  }
  return ip;
}

/// The agent's address on the connection; empty on a Unix socket.
std::optional<address> own_address(const protocol::HttpExchange& http) {
  const protocol::Address& local = http.local_address();
  if (local.family() == AF_INET) {
    sockaddr_in ip{};
    std::memcpy(&ip, local.data(), sizeof ip);
    return boost::asio::ip::address_v4{ntohl(ip.sin_addr.s_addr)};
  }
  if (local.family() == AF_INET6) {
    sockaddr_in6 ip{};
    std::memcpy(&ip, local.data(), sizeof ip);
    return boost::asio::ip::address_v6{std::bit_cast<boost::asio::ip::address_v6::bytes_type>(ip.sin6_addr.s6_addr)};
  }
  return std::nullopt;
}

/// Whether the method is safe (RFC 9110 section 9.2.1): Origin is then not checked, unless the request is an upgrade.
bool is_safe_method(std::string_view method) noexcept {
  constexpr std::array kSafe{std::string_view{"GET"}, std::string_view{"HEAD"}, std::string_view{"OPTIONS"},
                             std::string_view{"TRACE"}};
  return std::ranges::count(kSafe, method) > 0;
}

/// The answer to a preflight. It allows all methods; the request itself is refused if its method is unknown.
protocol::HttpResponse preflight_answer(const BrowserHead& head) {
  protocol::HttpResponse answer{.status = 204};
  answer.headers.add("Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, PATCH, DELETE");
  if (!head.wanted_fields.empty()) answer.headers.add("Access-Control-Allow-Headers", head.wanted_fields);
  answer.headers.add("Access-Control-Max-Age", "600");
  return answer;
}

bool is_name_of_a_cluster(std::string_view name) {
  return !name.contains('.') || name.ends_with(".svc") || name.ends_with(".cluster.local");
}

}  // namespace

BrowserHead BrowserHead::of(const protocol::HttpExchange& http) {
  const auto& request = http.request();
  BrowserHead head{.method = request.method,
                   .origin = request.headers.find("Origin"),
                   .local = own_address(http),
                   .is_tls = http.is_tls(),
                   .is_upgrade = request.headers.contains("Upgrade")};
  if (!request.host.empty()) head.host = request.host;
  if (head.method == "OPTIONS" && head.origin && request.headers.contains("Access-Control-Request-Method")) {
    head.is_preflight = true;
    head.wanted_fields = request.headers.get("Access-Control-Request-Headers");
  }
  return head;
}

Result<BrowserGuard> BrowserGuard::create(const std::vector<std::string>& hosts,
                                          const std::vector<std::string>& origins) {
  BrowserGuard guard;
  for (const std::string& host : hosts) {
    if (host == "*") {
      guard.any_host_ = true;
      continue;
    }
    const bool is_suffix = host.starts_with("*.");
    auto authority = parse_authority(std::string_view{host}.substr(is_suffix ? 2 : 0));
    if (!authority || (is_suffix && authority->bracketed)) {
      return fail(Errc::invalid_field, "--allowed-host \"" + host + "\": expected a name, *.NAME or *",
                  "--allowed-host");
    }
    if (is_suffix) {
      guard.suffixes_.push_back("." + authority->host);
    } else {
      guard.hosts_.push_back(std::move(authority->host));
    }
  }
  for (const std::string& origin : origins) {
    auto normal = normal_origin(origin);
    if (!normal) {
      return fail(Errc::invalid_field,
                  "--allowed-origin \"" + origin + "\": expected scheme://host[:port] without a path",
                  "--allowed-origin");
    }
    guard.origins_.push_back(std::move(*normal));
  }
  return guard;
}

BrowserGuard BrowserGuard::with_cluster_names() const {
  BrowserGuard guard = *this;
  guard.cluster_names_ = true;
  guard.any_host_ = false;
  return guard;
}

Result<Verdict> BrowserGuard::judge(const BrowserHead& head, Checks checks) const {
  SKIFF_TRY_VOID(check_host(head.host, head.local));
  Verdict verdict;
  if (checks != Checks::reading && (!is_safe_method(head.method) || head.is_upgrade)) {
    SKIFF_TRY_VOID(check_origin(head.origin, head.is_tls ? "https" : "http", head.host));
  }
  if (checks == Checks::origin || origins_.empty()) return verdict;
  verdict.fields.set("Vary", "Origin");
  if (!head.origin || !lists_origin(*head.origin)) return verdict;
  // Access-Control-Allow-Credentials is not needed: the page itself sends the token, not the browser.
  verdict.fields.set("Access-Control-Allow-Origin", *head.origin);
  verdict.fields.set("Access-Control-Expose-Headers", "*");
  if (head.is_preflight) verdict.preflight = preflight_answer(head);
  return verdict;
}

Result<> BrowserGuard::check_host(std::optional<std::string_view> host, const std::optional<address>& local) const {
  // A browser always sends Host, and cannot reach a Unix socket.
  if (any_host_ || !host || !local) return {};
  const auto authority = parse_authority(*host);
  if (authority) {
    const std::string& name = authority->host;
    if (name == "localhost" || name.ends_with(".localhost")) return {};
    boost::system::error_code no_address;
    const address ip = unmapped(boost::asio::ip::make_address(name, no_address));
    if (!no_address && (ip.is_loopback() || ip == unmapped(*local))) return {};
    if (cluster_names_ && (!no_address || is_name_of_a_cluster(name))) return {};
    if (std::ranges::count(hosts_, name) > 0) return {};
    if (std::ranges::any_of(suffixes_, [&](const std::string& suffix) {
          return name.size() > suffix.size() && name.ends_with(suffix);
        })) {
      return {};
    }
  }
  return fail(Errc::host_not_allowed, "this Host is not allowed: start skiffd with --allowed-host for it", "Host");
}

Result<> BrowserGuard::check_origin(std::optional<std::string_view> origin, std::string_view scheme,
                                    std::optional<std::string_view> host) const {
  if (!origin || lists_origin(*origin)) return {};
  if (host && protocol::is_origin_of(*origin, scheme, *host)) return {};
  return fail(Errc::origin_not_allowed, "this Origin is not allowed: start skiffd with --allowed-origin for it",
              "Origin");
}

bool BrowserGuard::lists_origin(std::string_view origin) const {
  const auto normal = normal_origin(origin);
  return normal && std::ranges::count(origins_, *normal) > 0;
}

}  // namespace skiff::runtime
