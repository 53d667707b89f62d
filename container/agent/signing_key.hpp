#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace skiff::container {

/// The Ed25519 key (RFC 8032) that signs the tokens of one namespace or state directory. Agents get the public half
/// only. A value; copies share the key.
class SigningKey {
 public:
  [[nodiscard]] static Result<SigningKey> generate();
  /// PKCS #8 in PEM, without encryption (RFC 5958). `invalid_field` for anything else.
  [[nodiscard]] static Result<SigningKey> parse_pem(std::string_view pem);
  /// The same for any number of them, one behind the other.
  [[nodiscard]] static Result<std::vector<SigningKey>> parse_pems(std::string_view pems);

  /// SubjectPublicKeyInfo in PEM, as `skiffd --public-key` reads it.
  [[nodiscard]] Result<std::string> public_pem() const;
  /// The public half is in `text`: in what an agent was configured with, or in an object that says so.
  [[nodiscard]] bool is_known_to(std::string_view text) const;
  /// Tells it from others, for people: 12 hexadecimal digits of the public half's SHA-256.
  [[nodiscard]] Result<std::string> fingerprint() const;
  /// What `parse_pem` reads. A secret.
  [[nodiscard]] Result<std::string> private_pem() const;

  /// 64 bytes.
  [[nodiscard]] Result<std::string> sign(std::string_view message) const;

 private:
  explicit SigningKey(std::shared_ptr<void> key) : key_{std::move(key)} {}
  std::shared_ptr<void> key_;  ///< an EVP_PKEY
};

/// What a namespace signs with: the key of all that is made now, and those before it that sandboxes still know, the
/// newest first.
struct SigningKeys {
  SigningKey current;
  std::vector<SigningKey> older = {};

  /// The one whose public half an agent was configured with; the current one when that is none of them.
  [[nodiscard]] const SigningKey& of_agent(std::string_view configured) const;
  [[nodiscard]] bool are_known_to(std::string_view configured) const;
};

}  // namespace skiff::container
