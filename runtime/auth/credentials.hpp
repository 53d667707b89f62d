#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "runtime/auth/public_key.hpp"
#include "runtime/auth/scopes.hpp"
#include "runtime/auth/token_file.hpp"
#include "runtime/settings.hpp"

namespace skiff::runtime {

/// The authenticated client of a request.
struct Identity {
  Scopes scopes;
  std::optional<std::string> session;  ///< the only session that it may use; absent: any
  std::string name;  ///< for logs: "token:3f2a..." (start of the digest), "jwt:SUB" (or JTI), "anonymous"
  std::optional<WallTime> expires;  ///< expiry of a JWT
  bool anonymous = false;           ///< admitted by --allow-unauthenticated; may not switch users
};

/// The key for limits per client: the name, the scopes and the session. So two credentials of one subject with
/// different scopes count separately.
[[nodiscard]] std::string holder_of(const Identity& identity);

/// The values of the header fields that may contain a credential; nullopt if absent.
struct CredentialHeaders {
  std::optional<std::string_view> authorization;
  std::optional<std::string_view> skiff_token;         ///< X-Skiff-Token
  std::optional<std::string_view> websocket_protocol;  ///< Sec-WebSocket-Protocol, the offered list
};

/// Prefix of the subprotocol that carries a token. The agent must not echo it.
inline constexpr std::string_view kBearerProtocol = "skiff.bearer.";

/// The token that the request presents: `Authorization: Bearer T`, `X-Skiff-Token: T`, or the subprotocol
/// skiff.bearer.<base64url(T)>. Other schemes of Authorization are ignored. Errors: unauthenticated for a malformed
/// token and for two different ones.
[[nodiscard]] Result<std::optional<std::string>> presented_token(const CredentialHeaders& headers);

/// The value of WWW-Authenticate for a 401 (RFC 6750 section 3).
[[nodiscard]] std::string challenge(bool token_was_presented);

/// Checks tokens. It holds digests and public keys only, no secrets. Reactor thread only.
class Authenticator {
 public:
  /// `sandbox_id` is the audience that a JWT must name.
  explicit Authenticator(std::string sandbox_id);

  /// Reads all credentials that the settings name, and wipes `settings.token`. Errors name the setting.
  [[nodiscard]] static Result<Authenticator> from_settings(Settings& settings);

  void add(TokenEntry entry) { tokens_.push_back(std::move(entry)); }
  void add(std::vector<PublicKey> keys) { keys_.insert(keys_.end(), keys.begin(), keys.end()); }
  /// Admits requests without a token and, when no credential is configured, with any token.
  void allow_unauthenticated() noexcept { open_ = true; }

  /// True when no request could be authenticated; `serve` then creates a token or refuses to start.
  [[nodiscard]] bool empty() const noexcept { return tokens_.empty() && keys_.empty() && !open_; }

  /// Errors: unauthenticated. The digest is compared with that of every token in constant time. Verified JWTs are
  /// cached by their digests until they expire.
  [[nodiscard]] Result<Identity> authenticate(std::optional<std::string_view> token, WallTime now = wall_now());

  static constexpr std::size_t kCachedJwts = 256;
  [[nodiscard]] std::size_t cached() const noexcept { return verified_.size(); }

 private:
  struct Verified {
    Identity identity;
    WallTime not_before;
    WallTime expires;
  };
  void remember(const TokenDigest& digest, Verified verified, WallTime now);

  std::string sandbox_id_;
  std::vector<TokenEntry> tokens_;
  std::vector<PublicKey> keys_;
  std::map<TokenDigest, Verified> verified_;
  bool open_ = false;
};

/// Checks the scope. Errors: insufficient_scope, which names the missing scope; unauthenticated if the credential has
/// expired, which may happen during a connection.
[[nodiscard]] Result<> require(const Identity& identity, Scope scope, WallTime now = wall_now());

/// Checks the session. Errors: insufficient_scope when the credential is bound to a session other than `session`.
[[nodiscard]] Result<> require_session(const Identity& identity, std::string_view session);

/// Whether the credential is only for the commands and files of one session, so that it may not change the session
/// itself or its isolation.
[[nodiscard]] inline bool is_kept_in(const Identity& identity) noexcept {
  return identity.session && !identity.scopes.allows(Scope::admin);
}

/// Checks that the credential may create, change or delete `session`. Errors: insufficient_scope.
[[nodiscard]] Result<> require_rule_over(const Identity& identity, std::string_view session);

}  // namespace skiff::runtime
