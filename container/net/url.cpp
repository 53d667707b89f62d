#include "container/net/url.hpp"

#include <charconv>
#include <string>
#include <system_error>

#include <boost/url/parse.hpp>
#include <boost/url/url_view.hpp>

namespace skiff::net {
namespace {

constexpr std::string_view kHostCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";

}  // namespace

std::string Url::authority() const {
  const bool ip6 = host.find(':') != std::string::npos;
  return (ip6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

std::string Url::text() const {
  if (socks) return "socks5://" + authority();
  return (tls ? "https://" : "http://") + authority() + path;
}

namespace {

Result<Url> parse_whole(const std::string& whole, bool may_be_socks, std::string_view what) {
  const auto bad = [&](std::string_view why) {
    return fail(Errc::invalid_field, std::string{what} + " " + std::string{why} + ": write it as " +
                                         (may_be_socks ? "http://HOST:PORT" : "https://HOST:PORT"));
  };
  const auto parsed = boost::urls::parse_uri(whole);
  if (!parsed) return bad("is not a URL");
  const boost::urls::url_view& view = *parsed;
  Url url;
  url.tls = view.scheme_id() == boost::urls::scheme::https;
  // The proxy resolves names for both schemes, as in client-go.
  url.socks = may_be_socks && (view.scheme() == "socks5" || view.scheme() == "socks5h");
  if (!url.tls && !url.socks && view.scheme_id() != boost::urls::scheme::http) {
    return bad("has the scheme \"" + std::string{view.scheme()} + "\", only https and http" +
               (may_be_socks ? " and socks5" : "") + " work");
  }
  url.host = view.host_address();
  // A decoded name may contain any bytes, but this one is used in headers, in checks of certificates and in look-ups.
  const bool ip6 = view.host_type() == boost::urls::host_type::ipv6;
  if (url.host.empty() || (!ip6 && url.host.find_first_not_of(kHostCharacters) != std::string::npos)) {
    return bad("names no usable host");
  }
  // Boost 1.81 parses "a@b@" as the host b and the path "@".
  if (!view.encoded_path().empty() && !view.encoded_path().starts_with('/')) return bad("is not a URL");
  if (view.has_query() || view.has_fragment()) return bad("has a query or fragment");
  url.port = url.tls ? 443 : url.socks ? 1080 : 80;
  // Not port_number(): it wraps around at 65536.
  if (const std::string digits{view.port()}; !digits.empty()) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), url.port);
    if (error != std::errc{} || end != digits.data() + digits.size() || url.port == 0) return bad("has no usable port");
  }
  url.path = std::string{view.encoded_path()};
  while (url.path.ends_with('/')) url.path.pop_back();
  url.user = view.user();
  url.password = view.password();
  return url;
}

bool has_scheme(std::string_view text) {
  return text.find("://") != std::string_view::npos;
}

}  // namespace

Result<Url> parse_url(std::string_view text, std::string_view what) {
  if (text.empty()) return fail(Errc::invalid_field, std::string{what} + " is empty: write it as https://HOST:PORT");
  return parse_whole((has_scheme(text) ? "" : "https://") + std::string{text}, false, what);
}

Result<Url> parse_proxy(std::string_view text, std::string_view what) {
  return parse_whole((has_scheme(text) ? "" : "http://") + std::string{text}, true, what);
}

}  // namespace skiff::net
