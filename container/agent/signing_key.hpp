#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace skiff::container {

/// The Ed25519 key (RFC 8032) that signs the tokens of one namespace or state directory. Agents get only the public
/// half. Copies share the key.
class SigningKey {
 public:
  [[nodiscard]] static Result<SigningKey> generate();
  /// PKCS #8 in PEM, without encryption (RFC 5958). `invalid_field` for anything else.
  [[nodiscard]] static Result<SigningKey> parse_pem(std::string_view pem);
  /// Parses any number of such keys, one behind the other.
  [[nodiscard]] static Result<std::vector<SigningKey>> parse_pems(std::string_view pems);

  /// SubjectPublicKeyInfo in PEM, for `skiffd --public-key`.
  [[nodiscard]] Result<std::string> public_pem() const;
  /// True when `text` contains the public half: an agent's configuration, or an object that contains it.
  [[nodiscard]] bool is_known_to(std::string_view text) const;
  /// A short name of the key for people: 12 hexadecimal digits of the public half's SHA-256.
  [[nodiscard]] Result<std::string> fingerprint() const;
  /// The key as `parse_pem` reads it. It is a secret.
  [[nodiscard]] Result<std::string> private_pem() const;

  /// 64 bytes.
  [[nodiscard]] Result<std::string> sign(std::string_view message) const;

 private:
  explicit SigningKey(std::shared_ptr<void> key) : key_{std::move(key)} {}
  std::shared_ptr<void> key_;  ///< an EVP_PKEY
};

/// The keys of a namespace: the key that signs for new sandboxes, and older keys that running sandboxes still know,
/// newest first.
struct SigningKeys {
  SigningKey current;
  std::vector<SigningKey> older = {};

  /// The key whose public half an agent was configured with; the current key if it was configured with none of these.
  [[nodiscard]] const SigningKey& of_agent(std::string_view configured) const;
  [[nodiscard]] bool are_known_to(std::string_view configured) const;
};

}  // namespace skiff::container
