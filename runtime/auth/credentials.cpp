#include "runtime/auth/credentials.hpp"

#include <openssl/crypto.h>

#include <algorithm>
#include <utility>

#include "base/async/expiry.hpp"
#include "base/bytes/text.hpp"
#include "base/small_file.hpp"
#include "protocol/json/base64.hpp"
#include "runtime/auth/jwt.hpp"
#include "runtime/auth/token_strength.hpp"

namespace skiff::runtime {
namespace {

std::unexpected<Error> malformed() {
  return fail(Errc::unauthenticated, "the credential is malformed");
}

bool equal_ignoring_case(std::string_view a, std::string_view b) noexcept {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; };
  return std::ranges::equal(a, b, {}, lower, lower);
}

/// Collects the tokens of a request; a second token must equal the first.
class Presented {
 public:
  Result<> take(std::string_view token) {
    if (token.empty()) return {};  // a client whose variable is unset sends an empty token
    if (!is_token_form(token)) return malformed();
    if (token_ && *token_ != token) return fail(Errc::unauthenticated, "the request holds two different credentials");
    token_ = token;
    return {};
  }
  std::optional<std::string> token() && { return std::move(token_); }

 private:
  std::optional<std::string> token_;
};

Result<> take_protocols(Presented& presented, std::string_view offered) {
  while (!offered.empty()) {
    const std::size_t end = std::min(offered.find(','), offered.size());
    const std::string_view protocol = trimmed(offered.substr(0, end));
    offered.remove_prefix(std::min(end + 1, offered.size()));
    if (!protocol.starts_with(kBearerProtocol)) continue;
    const auto token = protocol::decode_base64url(protocol.substr(kBearerProtocol.size()));
    if (!token || !is_token_form(*token)) {
      return fail(Errc::unauthenticated,
                  "the subprotocol skiff.bearer. must be followed by the token in base64url without padding");
    }
    SKIFF_TRY_VOID(presented.take(*token));
  }
  return {};
}

Error about(std::string_view setting, Error error) {
  error.message = std::string{setting} + ": " + error.message;
  error.field = setting;
  return error;
}

}  // namespace

std::string holder_of(const Identity& identity) {
  std::string holder = identity.name;
  for (const Scope scope : {Scope::read, Scope::exec, Scope::ports, Scope::admin}) {
    holder += identity.scopes.allows(scope) ? name(scope).front() : '-';
  }
  return identity.session ? holder + '/' + *identity.session : holder;
}

Result<std::optional<std::string>> presented_token(const CredentialHeaders& headers) {
  constexpr std::string_view kBearer = "Bearer";
  Presented presented;
  if (headers.authorization) {
    const std::string_view value = trimmed(*headers.authorization);
    if (equal_ignoring_case(value.substr(0, value.find(' ')), kBearer)) {
      SKIFF_TRY_VOID(presented.take(trimmed(value.substr(kBearer.size()))));
    }
  }
  if (headers.skiff_token) {
    SKIFF_TRY_VOID(presented.take(trimmed(*headers.skiff_token)));
  }
  if (headers.websocket_protocol) {
    SKIFF_TRY_VOID(take_protocols(presented, *headers.websocket_protocol));
  }
  return std::move(presented).token();
}

std::string challenge(bool token_was_presented) {
  return token_was_presented ? R"(Bearer realm="skiff", error="invalid_token")" : R"(Bearer realm="skiff")";
}

Authenticator::Authenticator(std::string sandbox_id) : sandbox_id_{std::move(sandbox_id)} {}

Result<Authenticator> Authenticator::from_settings(Settings& settings) {
  Authenticator authenticator{settings.sandbox_id};
  if (!settings.token.empty()) {
    const bool usable = is_token_form(settings.token);
    if (usable) authenticator.add(TokenEntry{.digest = digest_of(settings.token)});
    if (usable) warn_of_weak_token(settings.token, "SKIFF_TOKEN");
    wipe(settings.token);
    if (!usable) {
      return std::unexpected{about("SKIFF_TOKEN", Error{Errc::invalid_field,
                                                        "a token has at most 8192 characters, all printable ASCII "
                                                        "and none of them a blank"})};
    }
  }
  if (!settings.token_file.empty()) {
    auto entries = read_token_file(settings.token_file);
    if (!entries) return std::unexpected{about("--token-file", std::move(entries.error()))};
    for (TokenEntry& entry : *entries) authenticator.add(std::move(entry));
  }
  for (const std::string& hex : settings.token_sha256) {
    const auto digest = digest_from_hex(hex);
    if (!digest) return std::unexpected{about("--token-sha256", digest.error())};
    authenticator.add(TokenEntry{.digest = *digest});
  }
  for (const std::string& path : settings.public_key_files) {
    auto keys = PublicKey::read_pem_file(path);
    if (!keys) return std::unexpected{about("--public-key", std::move(keys.error()))};
    authenticator.add(std::move(*keys));
  }
  if (!settings.public_key_pem.empty()) {
    auto keys = PublicKey::parse_pem(settings.public_key_pem);
    if (!keys) return std::unexpected{about("SKIFF_PUBLIC_KEY", std::move(keys.error()))};
    authenticator.add(std::move(*keys));
  }
  if (settings.allow_unauthenticated) authenticator.allow_unauthenticated();
  return authenticator;
}

Result<Identity> Authenticator::authenticate(std::optional<std::string_view> token, WallTime now) {
  const bool nothing_configured = tokens_.empty() && keys_.empty();
  if (open_ && (!token || nothing_configured)) {
    return Identity{.scopes = Scopes::all(), .session = {}, .name = "anonymous", .expires = {}, .anonymous = true};
  }
  if (!token) return fail(Errc::unauthenticated, "a credential is needed");

  const TokenDigest digest = digest_of(*token);
  const TokenEntry* found = nullptr;
  // Compare with all tokens, so that the time does not reveal a match.
  for (const TokenEntry& entry : tokens_) {
    if (CRYPTO_memcmp(entry.digest.data(), digest.data(), digest.size()) == 0) found = &entry;
  }
  if (found != nullptr) {
    return Identity{.scopes = found->scopes,
                    .session = found->session,
                    .name = "token:" + to_hex(digest).substr(0, 8),
                    .expires = {}};
  }
  if (keys_.empty() || !looks_like_jwt(*token)) return fail(Errc::unauthenticated, "the token is not valid");

  if (const auto known = verified_.find(digest); known != verified_.end()) {
    if (now >= known->second.not_before && now < known->second.expires) return known->second.identity;
    verified_.erase(known);
  }
  SKIFF_TRY(auto claims, verify_jwt(*token, keys_, sandbox_id_, now));
  std::string who = to_hex(digest).substr(0, 8);
  for (const std::string& named : {claims.id, claims.subject}) {
    if (!named.empty()) who = named.substr(0, 128);
  }
  Identity identity{
      .scopes = claims.scopes, .session = std::move(claims.session), .name = "jwt:" + who, .expires = claims.expires};
  remember(digest, Verified{identity, claims.not_before, claims.expires}, now);
  return identity;
}

void Authenticator::remember(const TokenDigest& digest, Verified verified, WallTime now) {
  if (verified_.size() >= kCachedJwts) {
    std::erase_if(verified_, [now](const auto& known) { return now >= known.second.expires; });
  }
  if (verified_.size() >= kCachedJwts) {
    verified_.erase(std::ranges::min_element(verified_, {}, [](const auto& known) { return known.second.expires; }));
  }
  verified_.emplace(digest, std::move(verified));
}

Result<> require(const Identity& identity, Scope scope, WallTime now) {
  if (identity.expires && now >= *identity.expires) return fail(Errc::unauthenticated, std::string{kExpired});
  if (identity.scopes.allows(scope)) return {};
  return fail(Errc::insufficient_scope, "this needs the scope " + std::string{name(scope)});
}

Result<> require_session(const Identity& identity, std::string_view session) {
  if (!identity.session || *identity.session == session) return {};
  return fail(Errc::insufficient_scope, "the credential is for another session");
}

Result<> require_rule_over(const Identity& identity, std::string_view session) {
  if (!is_kept_in(identity)) return require_session(identity, session);
  return fail(Errc::insufficient_scope,
              "the credential is for the commands and files of one session: to create, change or delete a session, it "
              "needs the scope admin, or to be for every session");
}

}  // namespace skiff::runtime
