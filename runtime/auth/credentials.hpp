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

/// Who is asking.
struct Identity {
  Scopes scopes;
  std::optional<std::string> session;  ///< the only session that may be used; absent: any
  std::string name;  ///< for logs: "token:3f2a..." (start of the digest), "jwt:SUB" (or JTI), "anonymous"
  std::optional<WallTime> expires;  ///< of a JWT
  bool anonymous = false;           ///< let in by --allow-unauthenticated: no `user` switching
};

/// Who uses up a limit: credentials of one subject that allow different things are two.
[[nodiscard]] std::string holder_of(const Identity& identity);

/// The values of the request's header fields that may hold a credential; absent ones are nullopt.
struct CredentialHeaders {
  std::optional<std::string_view> authorization;
  std::optional<std::string_view> skiff_token;         ///< X-Skiff-Token
  std::optional<std::string_view> websocket_protocol;  ///< Sec-WebSocket-Protocol, the offered list
};

/// The subprotocol that carries a token; never to be echoed.
inline constexpr std::string_view kBearerProtocol = "skiff.bearer.";

/// The token that the request presents: `Authorization: Bearer T`, `X-Skiff-Token: T`, or the subprotocol
/// skiff.bearer.<base64url(T)>. Other schemes of Authorization are not a credential of ours. Two that differ, a
/// malformed one: unauthenticated.
[[nodiscard]] Result<std::optional<std::string>> presented_token(const CredentialHeaders& headers);

/// The value of WWW-Authenticate that goes with a 401 (RFC 6750 section 3).
[[nodiscard]] std::string challenge(bool token_was_presented);

/// Knows which tokens are accepted: digests and public keys only, nothing worth stealing. Reactor thread only.
class Authenticator {
 public:
  /// `sandbox_id` is the audience that a JWT must name.
  explicit Authenticator(std::string sandbox_id);

  /// Takes in everything that the settings name and wipes `settings.token`. Errors say which setting is to blame.
  [[nodiscard]] static Result<Authenticator> from_settings(Settings& settings);

  void add(TokenEntry entry) { tokens_.push_back(std::move(entry)); }
  void add(std::vector<PublicKey> keys) { keys_.insert(keys_.end(), keys.begin(), keys.end()); }
  /// Requests without a token are let in, and with any token when none is configured.
  void allow_unauthenticated() noexcept { open_ = true; }

  /// True when nothing could ever be accepted: the composition root then makes a token or refuses to start.
  [[nodiscard]] bool empty() const noexcept { return tokens_.empty() && keys_.empty() && !open_; }

  /// Errors: unauthenticated. The digest is compared with every token's in constant time. A JWT that was verified is
  /// remembered by its digest until it expires.
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

/// Errors: insufficient_scope, naming the scope that is needed; unauthenticated once the credential has expired, which
/// it may have since the connection began.
[[nodiscard]] Result<> require(const Identity& identity, Scope scope, WallTime now = wall_now());

/// Errors: insufficient_scope when the credential is bound to another session than `session`.
[[nodiscard]] Result<> require_session(const Identity& identity, std::string_view session);

/// Whether the credential is for the commands and files of one session, and leaves the session itself, with what keeps
/// its commands in, to those who made it.
[[nodiscard]] inline bool is_kept_in(const Identity& identity) noexcept {
  return identity.session && !identity.scopes.allows(Scope::admin);
}

/// For making, changing and deleting `session`. Errors: insufficient_scope.
[[nodiscard]] Result<> require_rule_over(const Identity& identity, std::string_view session);

}  // namespace skiff::runtime
