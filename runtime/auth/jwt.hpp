#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "runtime/auth/public_key.hpp"
#include "runtime/auth/scopes.hpp"

namespace skiff::runtime {

/// The claims of an accepted JWT.
struct JwtClaims {
  std::string subject;  ///< `sub`, or empty
  std::string id;       ///< `jti`, or empty
  Scopes scopes;        ///< from `scope`; empty if it is absent
  std::optional<std::string> session;
  WallTime not_before = WallTime::min();  ///< the later of `nbf` and `iat`, minus the leeway
  WallTime expires;                       ///< `exp`: invalid from this time on
};

inline constexpr std::size_t kLongestJwt = 8 * 1024;
/// Leeway for `nbf` and `iat`, because the clocks of issuer and sandbox differ. `exp` has none.
inline constexpr std::chrono::seconds kJwtLeeway{5};

/// True for text with exactly two dots, which may be a JWT.
[[nodiscard]] bool looks_like_jwt(std::string_view token) noexcept;

/// Checks a JWT (RFC 7519) in compact form, signed with Ed25519 (RFC 8037) by one of `keys`: three parts in strict
/// base64url, `alg` "EdDSA" and no `crit`, then the signature, and only then the claims: `exp` required, `nbf` and
/// `iat` honoured, `aud` (a string or a list) must contain `audience`. Duplicate names in header or claims are refused.
/// Errors: unauthenticated; the message names the failed check and contains no part of the token.
[[nodiscard]] Result<JwtClaims> verify_jwt(std::string_view token, std::span<const PublicKey> keys,
                                           std::string_view audience, WallTime now);

}  // namespace skiff::runtime
