#pragma once

#include <openssl/sha.h>

#include <array>
#include <string>
#include <string_view>

namespace skiff {

/// The SHA-256 (FIPS 180-4) of bytes that come piece by piece. OpenSSL's own block function, without the provider
/// machinery of its EVP layer: that costs an idle agent megabytes and a start milliseconds.
class Sha256 {
 public:
  using Digest = std::array<unsigned char, SHA256_DIGEST_LENGTH>;

  Sha256();
  void add(std::string_view bytes);
  /// Of everything so far. More may be added afterwards.
  [[nodiscard]] Digest digest() const;

  [[nodiscard]] static Digest of(std::string_view bytes);

 private:
  SHA256_CTX context_{};
};

/// SHA-1, for the WebSocket handshake only (RFC 6455 section 4.2.2).
[[nodiscard]] std::array<unsigned char, SHA_DIGEST_LENGTH> sha1(std::string_view bytes);

/// Lower hex.
[[nodiscard]] std::string to_hex(const Sha256::Digest& digest);

}  // namespace skiff
