#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "container/agent/signing_key.hpp"

/// The token by which a sandbox's agent makes itself known to the egress proxy of its namespace.
namespace skiff::container {

/// A JSON Web Token as those for agents, with the audience `egress` and the sandbox id as its subject. It has no end:
/// the proxy takes it from the address of that sandbox's Pod alone.
[[nodiscard]] Result<std::string> sign_egress_token(const SigningKey& key, std::string_view sandbox_id, WallTime now);

/// The public keys whose tokens a proxy takes.
class EgressKeys {
 public:
  /// Parses any number of keys as `SigningKey::public_pem` writes them. `invalid_field` for anything else.
  [[nodiscard]] static Result<EgressKeys> parse_pems(std::string_view pems);

  /// The sandbox id in a token of `sign_egress_token`; nullopt unless one of the keys has signed exactly such a token.
  [[nodiscard]] std::optional<std::string> sandbox_of(std::string_view token) const;

 private:
  [[nodiscard]] bool have_signed(std::string_view text, std::string_view signature) const;
  std::vector<std::shared_ptr<void>> keys_;  ///< EVP_PKEY
};

}  // namespace skiff::container
