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

/// Who may ask `skiff serve` for sandboxes.
namespace skiff::container::serve {

enum class KeyScope : std::uint8_t {
  create,  ///< make, start, stop, extend and remove sandboxes
  use,     ///< see them, and reach what is in them
  admin,   ///< both; tokens with every scope of an agent; the server's own numbers
};

/// What is kept of a key: nothing that opens anything.
struct ApiKey {
  std::string name;                        ///< unique; as `check_name` has it
  std::string sha256;                      ///< of the key itself, lower hex
  std::string tenant;                      ///< a namespace, or with the local driver an owner
  std::vector<KeyScope> scopes;            ///< not empty
  std::uint64_t max_sandboxes = 0;         ///< that run at the same time; 0: any number
  std::uint64_t creations_per_minute = 0;  ///< 0: any number
  std::uint64_t max_stopped = 0;           ///< that are kept and do not run; 0: any number
  std::string created_at;                  ///< RFC 3339
  std::optional<std::int64_t> expires_ms;  ///< since 1970; none: never

  [[nodiscard]] bool allows(KeyScope scope) const;
  [[nodiscard]] bool has_ended(WallTime now) const;

  static constexpr auto fields = std::tuple{
      protocol::field("name", &ApiKey::name, "Its name"),
      protocol::field("sha256", &ApiKey::sha256, "Digest of the key, lower hex", {.min_length = 64, .max_length = 64}),
      protocol::field("tenant", &ApiKey::tenant, "Whose sandboxes it reaches"),
      protocol::field("scopes", &ApiKey::scopes, "What it allows"),
      protocol::field("max_sandboxes", &ApiKey::max_sandboxes, "At the same time", {.optional = true}),
      protocol::field("creations_per_minute", &ApiKey::creations_per_minute, "A minute", {.optional = true}),
      protocol::field("max_stopped", &ApiKey::max_stopped, "That do not run", {.optional = true}),
      protocol::field("created_at", &ApiKey::created_at, "When it was made"),
      protocol::field("expires_ms", &ApiKey::expires_ms, "Its end, in milliseconds since 1970")};
};

/// All keys of one driver, and the secret from which the access tokens of its sandboxes are made.
struct KeyRing {
  std::string token_secret = {};  ///< 64 hexadecimal digits; empty: there was never a key
  std::vector<ApiKey> keys = {};

  static constexpr auto fields =
      std::tuple{protocol::field("token_secret", &KeyRing::token_secret, "What access tokens are made from"),
                 protocol::field("keys", &KeyRing::keys, "Digests of the keys")};
};

/// A new key for its user: `e2b_` and 40 hexadecimal digits of 160 random bits, which is the one form that every
/// version of E2B's SDKs takes.
[[nodiscard]] std::string new_api_key();
/// 64 hexadecimal digits.
[[nodiscard]] std::string new_token_secret();
/// 16 of them.
[[nodiscard]] std::string new_nonce();

/// Of a key or of an access token, as it is kept: lower hex.
[[nodiscard]] std::string sha256_hex(std::string_view text);

/// The key that is presented. `unauthenticated` for an unknown one and for one whose end has come, in the same words.
/// Every digest is compared, in a time that does not depend on them.
[[nodiscard]] Result<ApiKey> find_key(const KeyRing& ring, std::string_view presented, WallTime now);

/// HMAC-SHA256 (RFC 2104) of a purpose, lower hex. Whoever has the secret can tell it again, so it is kept nowhere.
[[nodiscard]] std::string derived_secret(std::string_view token_secret, std::string_view purpose);

/// What the agent of a sandbox is reached with by E2B's SDKs: 64 hexadecimal digits that begin with the nonce of the
/// record (`nonce_of`). Tenants may have sandboxes of the same name, one after the other the same tenant may, too: it
/// is that of one record of one tenant's, and whether it was made here is known without a look at the record.
[[nodiscard]] std::string access_token(std::string_view token_secret, std::string_view tenant, std::string_view sandbox,
                                       std::string_view nonce);

}  // namespace skiff::container::serve

namespace skiff::protocol {

template <>
struct EnumNames<container::serve::KeyScope> {
  using E = container::serve::KeyScope;
  static constexpr std::array values{EnumName{E::create, "create"}, EnumName{E::use, "use"},
                                     EnumName{E::admin, "admin"}};
};

}  // namespace skiff::protocol
