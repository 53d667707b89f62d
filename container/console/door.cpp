#include "container/console/door.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/bytes/text.hpp"
#include "container/serve/keys/api_key.hpp"
#include "protocol/http/origin.hpp"

namespace skiff::container::console {
namespace {

constexpr std::string_view kConsoleCookie = "skiff-console";
/// Most cookies of this name that are tried: pages on the same name and another port can set some.
constexpr std::size_t kMostTried = 8;
constexpr std::string_view kHowToBegin = "open the link that `skiff console` prints when it starts";

std::string_view without_port(std::string_view host) {
  const std::size_t end = host.starts_with('[') ? host.find(']') : host.find(':');
  if (end == std::string_view::npos) return host;
  return host.substr(0, host.starts_with('[') ? end + 1 : end);
}

/// Calls `each` for the values of the console's cookie.
template <class Each>
void for_each_console_cookie(const protocol::Headers& headers, Each each) {
  std::size_t tried = 0;
  for (const auto& [name, value] : headers) {
    if (!protocol::same_text(name, "Cookie")) continue;
    std::string_view left = value;
    while (!left.empty() && tried < kMostTried) {
      const std::size_t end = std::min(left.find(';'), left.size());
      const std::string_view pair = trimmed(left.substr(0, end));
      left.remove_prefix(std::min(end + 1, left.size()));
      const std::size_t equals = std::min(pair.find('='), pair.size());
      if (pair.substr(0, equals) != kConsoleCookie || equals == pair.size()) continue;
      ++tried;
      each(pair.substr(equals + 1));
    }
  }
}

/// True if a script of the console's own page has sent the request. Every browser that has Fetch Metadata (W3C) names
/// the destination; only fetch(), XMLHttpRequest and WebSocket have the empty one or "websocket".
bool is_from_own_script(const protocol::HttpRequest& request) {
  const protocol::Headers& fields = request.headers;
  const auto origin = fields.find("Origin");
  if (origin && !protocol::is_origin_of(*origin, "http", request.host)) return false;
  const auto site = fields.find("Sec-Fetch-Site");
  if (site && *site != "same-origin") return false;
  const auto destination = fields.find("Sec-Fetch-Dest");
  if (destination && *destination != "empty" && *destination != "websocket") return false;
  return origin || (site && destination);
}

}  // namespace

Door::Door() : host_{"skiff-" + serve::new_nonce() + ".localhost"}, secret_{serve::new_token_secret()} {}

Result<> Door::check_host(const protocol::HttpRequest& request) const {
  constexpr std::array<std::string_view, 3> kLoopback{"localhost", "127.0.0.1", "[::1]"};
  const std::string_view name = without_port(request.host);
  if (protocol::same_text(name, host_)) return {};
  if (std::ranges::any_of(kLoopback, [&](std::string_view one) { return protocol::same_text(name, one); })) return {};
  return fail(Errc::host_not_allowed, "the console has no such name: " + std::string{kHowToBegin}, "Host");
}

Result<std::string> Door::open(std::string_view secret) {
  // Digests are compared, so that the time does not show how much of the secret is right.
  if (serve::sha256_hex(secret) != serve::sha256_hex(secret_)) {
    return fail(Errc::unauthenticated, "this is not the link of this console: " + std::string{kHowToBegin});
  }
  if (is_spent_) {
    return fail(Errc::unauthenticated,
                "the link was used already, and works only once: end `skiff console`, start it again, and open the "
                "new link");
  }
  is_spent_ = true;
  const std::string cookie = serve::new_token_secret();
  cookies_.insert(serve::sha256_hex(cookie));
  return std::string{kConsoleCookie} + "=" + cookie + "; Path=/; HttpOnly; SameSite=Strict";
}

Result<> Door::admit(const protocol::HttpRequest& request) const {
  bool is_known = false;
  for_each_console_cookie(request.headers, [&](std::string_view cookie) {
    if (cookies_.contains(serve::sha256_hex(cookie))) is_known = true;
  });
  if (!is_known) return fail(Errc::unauthenticated, "this browser has no session: " + std::string{kHowToBegin});
  if (is_from_own_script(request)) return {};
  return fail(Errc::origin_not_allowed, "only the console's own page may send this request");
}

}  // namespace skiff::container::console
