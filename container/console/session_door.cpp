#include "container/console/session_door.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/clock.hpp"
#include "container/console/guard.hpp"
#include "container/serve/gateway/credential_fields.hpp"
#include "container/serve/gateway/credential_form.hpp"
#include "protocol/http/origin.hpp"

namespace skiff::container::console {
namespace {

/// Browsers take the first name only over https, for this host alone and from it alone (RFC 6265bis, 4.1.3.2): no page
/// on another name below the same domain can set it.
std::string_view cookie_name(bool is_tls) {
  return is_tls ? serve::kSecureSessionCookie : serve::kSessionCookie;
}

std::string cookie_with(std::string_view value, bool is_tls) {
  return std::string{cookie_name(is_tls)}.append("=").append(value).append("; Path=/; HttpOnly; SameSite=Strict") +
         (is_tls ? "; Secure" : "");
}

std::unexpected<Error> unknown_key() {
  return fail(Errc::unauthenticated, "this key is not known, or it has expired");
}

}  // namespace

Result<> SessionDoor::check_host(const protocol::HttpRequest& request, bool is_tls) {
  if (is_tls || is_loopback_name(request.host)) return {};
  return fail(Errc::host_not_allowed,
              "without https the console answers only on this machine itself, as localhost: put a proxy with TLS in "
              "front of the server, and start the server with --behind-proxy",
              "Host");
}

Result<> SessionDoor::check_own_form(const protocol::HttpRequest& request, bool is_tls) {
  const auto site = request.headers.find("Sec-Fetch-Site");
  const std::string_view origin = request.headers.get("Origin");
  const bool is_own = protocol::is_origin_of(origin, is_tls ? "https" : "http", request.host);
  if (is_own && (!site || *site == "same-origin")) return {};
  return fail(Errc::origin_not_allowed, "only the console's own page may sign you in");
}

Task<Result<SessionDoor::SignedIn>> SessionDoor::sign_in(std::string key, std::string source, bool is_tls) {
  // A token of a service account is for programs, and its reviews are for them.
  if (!key.starts_with(serve::kKeyPrefix) || !serve::holds_key(key)) co_return unknown_key();
  if (!signing_in_.leaves_room(source)) {
    co_return fail(Errc::resource_exhausted, "too many keys from your address are being verified: try again");
  }
  const Shares::Part verified{signing_in_, source};
  auto found = co_await keys_->find(key, std::move(source));
  if (!found && found.error().code == Errc::unauthenticated) co_return unknown_key();
  if (!found) co_return std::unexpected{std::move(found.error())};
  SKIFF_CO_TRY(const auto ring, co_await keys_->current());
  WallTime ends = wall_now() + kLongest;
  if (found->expires_ms) ends = std::min(ends, WallTime{std::chrono::milliseconds{*found->expires_ms}});
  const std::string cookie = SessionSeal{ring->token_secret}.seal({.key = std::move(key), .ends = ends});
  co_return SignedIn{.key = std::move(*found), .set_cookie = cookie_with(cookie, is_tls)};
}

std::string SessionDoor::signed_out(bool is_tls) {
  return cookie_with({}, is_tls) + "; Max-Age=0";
}

bool SessionDoor::shows_session(const protocol::HttpRequest& request, bool is_tls) {
  return !cookies_named(request.headers, cookie_name(is_tls)).empty();
}

Task<Result<Session>> SessionDoor::session_of(const protocol::HttpRequest* request, std::string source, bool is_tls) {
  SKIFF_CO_TRY(const auto ring, co_await keys_->current());
  const SessionSeal seal{ring->token_secret};
  const WallTime now = wall_now();
  for (const std::string_view cookie : cookies_named(request->headers, cookie_name(is_tls))) {
    auto session = seal.open(cookie, now);
    if (!session) continue;
    const auto key = co_await keys_->find(session->key, source);
    if (key) co_return std::move(*session);
    if (key.error().code != Errc::unauthenticated) co_return std::unexpected{key.error()};
  }
  co_return fail(Errc::unauthenticated, "this browser has no session: sign in again");
}

}  // namespace skiff::container::console
