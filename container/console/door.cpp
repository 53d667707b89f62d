#include "container/console/door.hpp"

#include <algorithm>

#include "container/console/guard.hpp"
#include "container/serve/keys/api_key.hpp"

namespace skiff::container::console {
namespace {

constexpr std::string_view kConsoleCookie = "skiff-console";
constexpr std::string_view kHowToBegin = "open the link that `skiff console` prints when it starts";

}  // namespace

Door::Door() : host_{"skiff-" + serve::new_nonce() + ".localhost"}, secret_{serve::new_token_secret()} {}

Result<> Door::check_host(const protocol::HttpRequest& request) const {
  if (is_loopback_name(request.host) || protocol::same_text(without_port(request.host), host_)) return {};
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
  const bool is_known =
      std::ranges::any_of(cookies_named(request.headers, kConsoleCookie),
                          [&](std::string_view cookie) { return cookies_.contains(serve::sha256_hex(cookie)); });
  if (!is_known) return fail(Errc::unauthenticated, "this browser has no session: " + std::string{kHowToBegin});
  return check_own_script(request, false);
}

}  // namespace skiff::container::console
