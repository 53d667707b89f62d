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

/// What an accepted JWT says.
struct JwtClaims {
  std::string subject;  ///< `sub`, or empty
  std::string id;       ///< `jti`, or empty
  Scopes scopes;        ///< `scope`, or none
  std::optional<std::string> session;
  WallTime not_before = WallTime::min();  ///< the later of `nbf` and `iat`, with the leeway taken off
  WallTime expires;                       ///< `exp`: not valid from here on
};

inline constexpr std::size_t kLongestJwt = 8 * 1024;
/// For `nbf` and `iat` only, for the clocks of issuer and sandbox differ; `exp` has none.
inline constexpr std::chrono::seconds kJwtLeeway{5};

/// True for text with exactly two dots: whether to look at it as a JWT at all.
[[nodiscard]] bool looks_like_jwt(std::string_view token) noexcept;

/// Checks a JWT (RFC 7519) in compact form, signed with Ed25519 (RFC 8037) by one of `keys`: three parts in strict
/// base64url, `alg` "EdDSA" and no `crit`, then the signature, and only then the claims: `exp` required, `nbf` and
/// `iat` honoured, `aud` (a string or a list) must hold `audience`. Duplicate names in header or claims are refused.
/// Errors: unauthenticated; the message says which check failed and never holds a part of the token.
[[nodiscard]] Result<JwtClaims> verify_jwt(std::string_view token, std::span<const PublicKey> keys,
                                           std::string_view audience, WallTime now);

}  // namespace skiff::runtime
