#include "runtime/auth/browser_guard.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace skiff::runtime {
namespace {

using boost::asio::ip::address;

std::string lower(std::string_view text) {
  std::string result{text};
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  }
  return result;
}

/// The two parts of `uri-host [":" port]` (RFC 9110 section 7.2), the host in lower case without brackets and final
/// dot.
struct Authority {
  std::string host;
  std::string port;
  bool bracketed = false;
};

std::optional<Authority> parse_authority(std::string_view text) {
  Authority authority;
  std::size_t end = 0;
  if (text.starts_with('[')) {
    end = text.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    authority.host = lower(text.substr(1, end - 1));
    authority.bracketed = true;
    ++end;
  } else {
    end = std::min(text.find(':'), text.size());
    authority.host = lower(text.substr(0, end));
    if (authority.host.ends_with('.')) authority.host.pop_back();
  }
  const std::string_view rest = text.substr(end);
  if (!rest.empty()) {
    if (rest.front() != ':' || rest.size() > 6) return std::nullopt;
    authority.port = rest.substr(1);
  }
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto may_stand_in_host = [&](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || c == '-' || c == '.' || c == '_' ||
           (authority.bracketed && c == ':');
  };
  if (authority.host.empty() || !std::ranges::all_of(authority.host, may_stand_in_host) ||
      !std::ranges::all_of(authority.port, is_digit)) {
    return std::nullopt;
  }
  return authority;
}

/// Text that is equal for equal origins: lower case, without the port that the scheme implies.
std::optional<std::string> normal_origin(std::string_view text) {
  constexpr std::string_view kSeparator = "://";
  const std::size_t colon = text.find(kSeparator);
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  const std::string scheme = lower(text.substr(0, colon));
  auto authority = parse_authority(text.substr(colon + kSeparator.size()));
  if (!authority) return std::nullopt;
  if ((scheme == "http" && authority->port == "80") || (scheme == "https" && authority->port == "443")) {
    authority->port.clear();
  }
  std::string origin = scheme + std::string{kSeparator};
  origin += authority->bracketed ? "[" + authority->host + "]" : authority->host;
  if (!authority->port.empty()) origin += ":" + authority->port;
  return origin;
}

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
  if (const auto normal = normal_origin(*origin)) {
    if (host && normal_origin(std::string{scheme} + "://" + std::string{*host}) == normal) return {};
  }
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
