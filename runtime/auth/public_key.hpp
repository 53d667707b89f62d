#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace skiff::runtime {

/// An Ed25519 public key (RFC 8032). Copies share the key; `verify` may be called from any thread.
class PublicKey {
 public:
  /// Parses one or more PEM blocks "PUBLIC KEY" (SubjectPublicKeyInfo, RFC 8410). Errors: invalid_field for a private
  /// key, another kind of key, and other text than such blocks and white space.
  [[nodiscard]] static Result<std::vector<PublicKey>> parse_pem(std::string_view pem);
  /// Parses the blocks of a file of at most 64 KiB.
  [[nodiscard]] static Result<std::vector<PublicKey>> read_pem_file(const std::string& path);

  [[nodiscard]] bool verify(std::string_view message, std::span<const unsigned char> signature) const;

 private:
  explicit PublicKey(std::shared_ptr<void> key) : key_{std::move(key)} {}
  std::shared_ptr<void> key_;  // EVP_PKEY
};

}  // namespace skiff::runtime
