#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace skiff::container {

/// The Ed25519 key (RFC 8032) that signs the tokens of one namespace or state folder. Agents get the public half only.
/// A value; copies share the key.
class SigningKey {
 public:
  [[nodiscard]] static Result<SigningKey> generate();
  /// PKCS #8 in PEM, without encryption (RFC 5958). `invalid_field` for anything else.
  [[nodiscard]] static Result<SigningKey> parse_pem(std::string_view pem);

  /// SubjectPublicKeyInfo in PEM, as `skiffd --public-key` reads it.
  [[nodiscard]] Result<std::string> public_pem() const;
  /// What `parse_pem` reads. A secret.
  [[nodiscard]] Result<std::string> private_pem() const;

  /// 64 bytes.
  [[nodiscard]] Result<std::string> sign(std::string_view message) const;

 private:
  explicit SigningKey(std::shared_ptr<void> key) : key_{std::move(key)} {}
  std::shared_ptr<void> key_;  ///< an EVP_PKEY
};

}  // namespace skiff::container
