#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "protocol/json/schema.hpp"

/// The API keys of `skiff serve`.
namespace skiff::container::serve {

enum class KeyScope : std::uint8_t {
  create,  ///< create, start, stop, extend and remove sandboxes
  use,     ///< list sandboxes, and reach their agents and ports
  admin,   ///< both; agent tokens with every scope; the server's metrics
};

/// The stored data of a key; the key itself is not stored.
struct ApiKey {
  std::string name;                        ///< unique; satisfies `check_name`
  std::string sha256;                      ///< digest of the key itself, lower hex
  std::string tenant;                      ///< a namespace, or with the local driver an owner
  std::vector<KeyScope> scopes;            ///< not empty
  std::uint64_t max_sandboxes = 0;         ///< most sandboxes that run at the same time; 0: any number
  std::uint64_t creations_per_minute = 0;  ///< most creations per minute on each server; 0: any number
  std::uint64_t max_stopped = 0;           ///< most sandboxes that are kept and do not run; 0: any number
  std::string created_at;                  ///< RFC 3339
  std::optional<std::int64_t> expires_ms;  ///< since 1970; empty: never

  [[nodiscard]] bool allows(KeyScope scope) const;
  [[nodiscard]] bool has_ended(WallTime now) const;

  static constexpr auto fields = std::tuple{
      protocol::field("name", &ApiKey::name, "Name of the key"),
      protocol::field("sha256", &ApiKey::sha256, "Digest of the key, lower hex", {.min_length = 64, .max_length = 64}),
      protocol::field("tenant", &ApiKey::tenant, "Tenant whose sandboxes the key reaches"),
      protocol::field("scopes", &ApiKey::scopes, "Scopes of the key"),
      protocol::field("max_sandboxes", &ApiKey::max_sandboxes, "Most sandboxes that run at the same time",
                      {.optional = true}),
      protocol::field("creations_per_minute", &ApiKey::creations_per_minute, "Most creations per minute",
                      {.optional = true}),
      protocol::field("max_stopped", &ApiKey::max_stopped, "Most sandboxes that are kept and do not run",
                      {.optional = true}),
      protocol::field("created_at", &ApiKey::created_at, "Time of its creation"),
      protocol::field("expires_ms", &ApiKey::expires_ms, "End of its validity, in milliseconds since 1970")};
};

/// All keys of one driver, and the secret from which its sandboxes' access tokens are derived.
struct KeyRing {
  std::string token_secret = {};  ///< 64 hexadecimal digits; empty: there was never a key
  std::vector<ApiKey> keys = {};

  static constexpr auto fields =
      std::tuple{protocol::field("token_secret", &KeyRing::token_secret, "Secret from which access tokens are derived"),
                 protocol::field("keys", &KeyRing::keys, "Digests of the keys")};
};

/// A new key: `e2b_` and 40 hexadecimal digits of 160 random bits, the only form that every version of E2B's SDKs
/// accepts.
[[nodiscard]] std::string new_api_key();
/// A new secret: 64 hexadecimal digits.
[[nodiscard]] std::string new_token_secret();
/// A new nonce: 16 hexadecimal digits.
[[nodiscard]] std::string new_nonce();

/// The digest of a key or an access token in the form in which it is stored: lower hex.
[[nodiscard]] std::string sha256_hex(std::string_view text);

/// Finds the presented key. `unauthenticated` for an unknown and for an expired key, with the same text. Every digest
/// is compared, in constant time.
[[nodiscard]] Result<ApiKey> find_key(const KeyRing& ring, std::string_view presented, WallTime now);

/// HMAC-SHA256 (RFC 2104) of a purpose, lower hex. It can be derived again from the secret, so it is not stored.
[[nodiscard]] std::string derived_secret(std::string_view token_secret, std::string_view purpose);

/// The token with which E2B's SDKs reach the agent of a sandbox: 64 hexadecimal digits that begin with the nonce of the
/// record (`nonce_of`). Several tenants, or one tenant in succession, may have sandboxes of the same name, so the token
/// belongs to one record of one tenant. The server can verify that it has created a token without reading the record.
[[nodiscard]] std::string access_token(std::string_view token_secret, std::string_view tenant, std::string_view sandbox,
                                       std::string_view nonce);
/// The token with which E2B's SDKs reach the ports of a sandbox. It is made from the access token, and begins with the
/// same nonce; the access token does not follow from it.
[[nodiscard]] std::string traffic_token(std::string_view access_token, std::string_view nonce);

}  // namespace skiff::container::serve

namespace skiff::protocol {

template <>
struct EnumNames<container::serve::KeyScope> {
  using E = container::serve::KeyScope;
  static constexpr std::array values{EnumName{E::create, "create"}, EnumName{E::use, "use"},
                                     EnumName{E::admin, "admin"}};
};

}  // namespace skiff::protocol
