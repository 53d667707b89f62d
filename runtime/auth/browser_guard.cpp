#include "runtime/auth/browser_guard.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "protocol/http/origin.hpp"

namespace skiff::runtime {
namespace {

using boost::asio::ip::address;
using protocol::normal_origin;
using protocol::parse_authority;

/// So that an IPv4 client of a socket that listens on both families is recognised.
address unmapped(const address& ip) {
  if (ip.is_v6() && ip.to_v6().is_v4_mapped()) {
    return boost::asio::ip::make_address_v4(boost::asio::ip::v4_mapped, ip.to_v6());
  }
  return ip;
}

bool is_name_of_a_cluster(std::string_view name) {
  return !name.contains('.') || name.ends_with(".svc") || name.ends_with(".cluster.local");
}

}  // namespace

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

Result<> BrowserGuard::check_host(std::optional<std::string_view> host, const std::optional<address>& local) const {
  // A browser always sends Host, and it can't reach a Unix socket.
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

bool is_safe_method(std::string_view method) noexcept {
  constexpr std::array kSafe{std::string_view{"GET"}, std::string_view{"HEAD"}, std::string_view{"OPTIONS"},
                             std::string_view{"TRACE"}};
  return std::ranges::count(kSafe, method) > 0;
}

}  // namespace skiff::runtime
