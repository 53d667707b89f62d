#pragma once

#include <openssl/sha.h>

#include <array>
#include <string>
#include <string_view>

namespace skiff {

/// The SHA-256 (FIPS 180-4) of bytes that come piece by piece. It uses OpenSSL's own block function without the
/// provider machinery of the EVP layer, which would cost megabytes of idle memory and milliseconds at each start.
class Sha256 {
 public:
  using Digest = std::array<unsigned char, SHA256_DIGEST_LENGTH>;

  Sha256();
  void add(std::string_view bytes);
  /// Returns the digest of all bytes so far. More bytes may follow.
  [[nodiscard]] Digest digest() const;

  [[nodiscard]] static Digest of(std::string_view bytes);

 private:
  SHA256_CTX context_{};
};

/// SHA-1, for the WebSocket handshake only (RFC 6455 section 4.2.2).
[[nodiscard]] std::array<unsigned char, SHA_DIGEST_LENGTH> sha1(std::string_view bytes);

/// Formats a digest in lower-case hexadecimal.
[[nodiscard]] std::string to_hex(const Sha256::Digest& digest);

}  // namespace skiff
