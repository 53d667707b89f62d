#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "container/agent/signing_key.hpp"

namespace skiff::container {

inline constexpr std::chrono::seconds kTokenLifetime{300};

/// The rights and the lifetime of a token.
struct TokenGrant {
  std::string scope = "read exec admin";           ///< words separated by spaces
  std::chrono::seconds lifetime = kTokenLifetime;  ///< 1 s to 365 days
  std::string subject = {};  ///< end user of the owner's, for whom the token is; each has its own limits in the agent
};

/// `invalid_field` for an unknown scope or a lifetime out of range.
[[nodiscard]] Result<> check_grant(const TokenGrant& grant);

/// A JSON Web Token (RFC 7519) signed with Ed25519 (RFC 8037): aud is the sandbox id, sub is `subject`, the identity
/// that asked for it, followed by "/" and the grant's subject if it has one, and jti is unique; scope and exp come from
/// the grant. The agent accepts it until `now` + lifetime; its iat is a minute before `now`, because clocks may differ.
[[nodiscard]] Result<std::string> sign_token(const SigningKey& key, std::string_view sandbox_id,
                                             std::string_view subject, const TokenGrant& grant, WallTime now);

}  // namespace skiff::container
