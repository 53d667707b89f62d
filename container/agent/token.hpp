#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "container/agent/signing_key.hpp"

namespace skiff::container {

inline constexpr std::chrono::seconds kTokenLifetime{300};

/// What a token allows, and for how long.
struct TokenGrant {
  std::string scope = "read exec admin";           ///< words separated by spaces
  std::chrono::seconds lifetime = kTokenLifetime;  ///< 1 s to 365 days
  std::string subject = {};  ///< of its owner's, who it is for: what he uses up is not the next one's
};

/// `invalid_field` for an unknown scope or a lifetime out of range.
[[nodiscard]] Result<> check_grant(const TokenGrant& grant);

/// A JSON Web Token (RFC 7519) signed with Ed25519 (RFC 8037): aud = the sandbox id, iat, exp, scope, a jti of its own,
/// and `subject`, who asked for it, as sub. The agent accepts it until `now` + lifetime; its iat is a minute before
/// `now`, so that clocks may differ.
[[nodiscard]] Result<std::string> sign_token(const SigningKey& key, std::string_view sandbox_id,
                                             std::string_view subject, const TokenGrant& grant, WallTime now);

}  // namespace skiff::container
