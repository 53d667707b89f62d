#include "container/serve/gateway/preview.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <utility>

#include "base/bytes/text.hpp"
#include "protocol/http/origin.hpp"
#include "protocol/json/base64.hpp"

namespace skiff::container::serve {
namespace {

using std::chrono::seconds;

constexpr std::string_view kParameter = "skiff-preview";
/// RFC 6265bis, 4.1.3.2: browsers accept this name only over TLS, and only for the host.
constexpr std::string_view kSecureCookie = "__Host-skiff-preview";
constexpr std::string_view kPlainCookie = "skiff-preview";
/// The purpose of a token, which is signed with it.
constexpr std::string_view kLink = "link";
constexpr std::string_view kCookie = "cookie";

constexpr std::size_t kMacSize = 32;
constexpr std::size_t kMostEndDigits = 12;
/// Most cookies of this name that are tried: another sandbox's page below the same domain can set cookies of this name
/// for all of them.
constexpr std::size_t kMostCookies = 8;

using Mac = std::array<unsigned char, kMacSize>;

/// `claims`: END.RECORD.BY.TENANT
Mac mac_of(std::string_view key, std::string_view kind, std::string_view sandbox, std::uint16_t port,
           std::string_view claims) {
  // No part contains a line feed, so the text is unambiguous.
  std::string text{"skiff preview 3\n"};
  text.append(kind).append(1, '\n').append(sandbox).append(1, '\n').append(std::to_string(port));
  text.append(1, '\n').append(claims);
  Mac mac{};
  unsigned size = 0;
  ::HMAC(::EVP_sha256(), key.data(), static_cast<int>(key.size()), reinterpret_cast<const unsigned char*>(text.data()),
         text.size(), mac.data(), &size);
  return mac;
}

/// Calls `each(name, value, pair)` for the pairs of a Cookie field (RFC 6265, 4.2.1).
template <class Each>
void for_each_cookie(std::string_view field, Each each) {
  while (!field.empty()) {
    const std::size_t end = std::min(field.find(';'), field.size());
    const std::string_view pair = trimmed(field.substr(0, end));
    field.remove_prefix(std::min(end + 1, field.size()));
    const std::size_t equals = std::min(pair.find('='), pair.size());
    if (!pair.empty()) {
      each(trimmed(pair.substr(0, equals)), trimmed(pair.substr(std::min(equals + 1, pair.size()))), pair);
    }
  }
}

bool is_preview_cookie(std::string_view name) noexcept {
  return name == kSecureCookie || name == kPlainCookie;
}

std::string origin_of(const protocol::HttpRequest& request, bool secure) {
  return (secure ? "https://" : "http://") + request.host;
}

/// True if the request comes from the sandbox's own page, or from a user who opens the page. Browsers send the cookie
/// with other requests, too: sandboxes below one domain are one site to them, so pages of one sandbox can open
/// WebSockets to another, or show its page in a frame.
bool is_from_its_own_page(const protocol::HttpRequest& request, bool secure) {
  const protocol::Headers& fields = request.headers;
  const std::string_view scheme = secure ? "https" : "http";
  if (const auto origin = fields.find("Origin"); origin && !protocol::is_origin_of(*origin, scheme, request.host)) {
    return false;
  }
  // Fetch Metadata (W3C) shows which requests without Origin come from another site's page.
  const auto site = fields.find("Sec-Fetch-Site");
  if (!site || *site == "same-origin" || *site == "none") return true;
  return fields.get("Sec-Fetch-Mode") == "navigate" && fields.get("Sec-Fetch-Dest") == "document" &&
         (request.method == "GET" || request.method == "HEAD");
}

protocol::HttpResponse redirect_with(const protocol::HttpRequest& request, std::string_view cookie, bool secure,
                                     seconds left) {
  std::string set_cookie{secure ? kSecureCookie : kPlainCookie};
  set_cookie.append(1, '=').append(cookie).append("; Path=/; Max-Age=").append(std::to_string(left.count()));
  set_cookie += "; HttpOnly; SameSite=Lax";
  if (secure) set_cookie += "; Secure";
  // Include the origin: "//elsewhere/" and "/\elsewhere/" are paths here, but hosts to a browser.
  std::string target{request.target.path};
  const std::string_view whole{request.target_text};
  if (const std::size_t query = whole.find('?'); query != std::string_view::npos) target += whole.substr(query);
  return {.status = 302,
          .headers = {{"Location", origin_of(request, secure) + without_preview(target)},
                      {"Set-Cookie", set_cookie},
                      {"Cache-Control", "no-store"},
                      {"Referrer-Policy", "no-referrer"}},
          .body = {}};
}

}  // namespace

Result<Previews> Previews::create(std::vector<std::string> keys, std::string mark) {
  if (keys.empty()) return fail(Errc::invalid_field, "previews need a key");
  if (std::ranges::any_of(keys, [](const std::string& key) { return key.size() < kShortestKey; })) {
    return fail(Errc::invalid_field, "a key of previews has at least " + std::to_string(kShortestKey) + " bytes");
  }
  return Previews{std::move(keys), std::move(mark)};
}

std::string Previews::token_of(std::string_view kind, std::string_view sandbox, std::uint16_t port, WallTime ends,
                               const Given& given) const {
  const std::string claims = std::to_string(std::chrono::floor<seconds>(ends).time_since_epoch().count()) + "." +
                             given.record + "." + given.by + "." + mark_;
  const Mac mac = mac_of(keys_.front(), kind, sandbox, port, claims);
  return claims + "." + protocol::encode_base64url({reinterpret_cast<const char*>(mac.data()), mac.size()});
}

std::string Previews::parameter(std::string_view sandbox, std::uint16_t port, WallTime ends, const Given& given) const {
  return std::string{kParameter} + "=" + token_of(kLink, sandbox, port, ends, given);
}

std::optional<Previews::Shown> Previews::read(std::string_view token, std::string_view kind,
                                              const Destination& destination, WallTime now) const {
  const std::size_t last = token.rfind('.');
  if (last == std::string_view::npos || std::ranges::count(token, '.') != 4) return std::nullopt;
  const std::string_view claims = token.substr(0, last);
  const std::size_t dot = claims.find('.');
  const std::size_t second = claims.find('.', dot + 1);
  const std::size_t third = claims.find('.', second + 1);
  if (dot == 0 || dot > kMostEndDigits) return std::nullopt;
  const std::string_view end_text = claims.substr(0, dot);
  std::int64_t end_count = 0;
  const auto [stop, error] = std::from_chars(end_text.data(), end_text.data() + end_text.size(), end_count);
  if (error != std::errc{} || stop != end_text.data() + end_text.size()) return std::nullopt;
  const auto shown = protocol::decode_base64url(token.substr(last + 1));
  if (!shown || shown->size() != kMacSize) return std::nullopt;
  bool matches = false;
  for (const std::string& key : keys_) {
    const Mac mac = mac_of(key, kind, destination.sandbox, destination.port, claims);
    if (::CRYPTO_memcmp(mac.data(), shown->data(), kMacSize) == 0) matches = true;
  }
  const WallTime ends{seconds{end_count}};
  if (!matches || now >= ends) return std::nullopt;
  return Shown{.ends = ends,
               .given = {.record = std::string{claims.substr(dot + 1, second - dot - 1)},
                         .by = std::string{claims.substr(second + 1, third - second - 1)}}};
}

Error Previews::invalid_link() {
  return {.code = Errc::unauthenticated, .message = "the link of this preview is invalid or has expired"};
}

bool Previews::Tokens::name_tenant(std::string_view mark) const {
  return std::ranges::any_of(all, [mark](std::string_view token) {
    const std::string_view claims = token.substr(0, token.rfind('.'));
    const std::size_t last = claims.rfind('.');
    return last != std::string_view::npos && claims.substr(last + 1) == mark;
  });
}

Result<Previews::Tokens> Previews::tokens_of(const protocol::HttpRequest& request, const Destination& destination,
                                             bool secure) {
  Tokens tokens;
  if (destination.by != NamedBy::host) return tokens;
  const auto is_ours = [](const protocol::Target::Parameter& one) { return one.name == kParameter; };
  if (const auto found = std::ranges::find_if(request.target.query, is_ours); found != request.target.query.end()) {
    if (std::ranges::count_if(request.target.query, is_ours) > 1) {
      return fail(Errc::invalid_request, "the parameter of a preview is repeated", std::string{kParameter});
    }
    if (request.method != "GET" && request.method != "HEAD") {
      return fail(Errc::invalid_request, "a preview's link must be opened with GET", std::string{kParameter});
    }
    return Tokens{.is_link = true, .all = {found->value}};
  }
  if (!is_from_its_own_page(request, secure)) return tokens;
  for (const auto [name, value] : request.headers) {
    if (!protocol::same_text(name, "Cookie")) continue;
    for_each_cookie(value, [&](std::string_view cookie, std::string_view token, std::string_view) {
      if (cookie != (secure ? kSecureCookie : kPlainCookie) || tokens.all.size() == kMostCookies) return;
      tokens.all.push_back(token);
    });
  }
  return tokens;
}

Result<std::optional<Previews::Shown>> Previews::shown(const protocol::HttpRequest& request,
                                                       const Destination& destination, bool secure,
                                                       WallTime now) const {
  SKIFF_TRY(const auto tokens, tokens_of(request, destination, secure));
  for (const std::string_view token : tokens.all) {
    auto found = read(token, tokens.is_link ? kLink : kCookie, destination, now);
    if (!found) continue;
    if (tokens.is_link) {
      const std::string cookie = token_of(kCookie, destination.sandbox, destination.port, found->ends, found->given);
      found->redirect = redirect_with(request, cookie, secure, std::chrono::ceil<seconds>(found->ends - now));
    }
    return found;
  }
  if (tokens.is_link) return std::unexpected{invalid_link()};
  return std::nullopt;
}

void remove_preview_cookie(protocol::Headers& fields) {
  std::vector<std::string> kept;
  bool found = false;
  for (const auto [name, value] : fields) {
    if (!protocol::same_text(name, "Cookie")) continue;
    std::string others;
    for_each_cookie(value, [&](std::string_view cookie, std::string_view, std::string_view pair) {
      if (is_preview_cookie(cookie)) {
        found = true;
        return;
      }
      if (!others.empty()) others += "; ";
      others += pair;
    });
    if (!others.empty()) kept.push_back(std::move(others));
  }
  if (!found) return;
  fields.remove("Cookie");
  for (const std::string& others : kept) fields.add("Cookie", others);
}

void remove_preview_links(protocol::Headers& fields) {
  std::vector<std::string> referers;
  for (const auto [name, value] : fields) {
    if (protocol::same_text(name, "Referer")) referers.push_back(without_preview(value));
  }
  fields.remove("Referer");
  for (const std::string& referer : referers) fields.add("Referer", referer);
}

std::string without_preview(std::string_view target) {
  const std::size_t question = target.find('?');
  if (question == std::string_view::npos) return std::string{target};
  std::string_view query = target.substr(question + 1);
  std::string kept;
  bool found = false;
  bool first = true;
  for (bool more = true; more;) {
    const std::size_t end = query.find('&');
    const std::string_view piece = query.substr(0, end);
    more = end != std::string_view::npos;
    if (more) query.remove_prefix(end + 1);
    // A name that cannot be decoded is not ours (Target::query keeps it as it was sent).
    const auto name = protocol::percent_decode(piece.substr(0, piece.find('=')), protocol::Plus::is_space);
    if (name && *name == kParameter) {
      found = true;
      continue;
    }
    if (!std::exchange(first, false)) kept += '&';
    kept += piece;
  }
  if (!found) return std::string{target};
  std::string rest{target.substr(0, question)};
  if (!kept.empty()) rest.append(1, '?').append(kept);
  return rest;
}

}  // namespace skiff::container::serve
