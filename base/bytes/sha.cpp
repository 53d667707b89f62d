#define OPENSSL_SUPPRESS_DEPRECATED  // for the functions below the EVP layer; see the header
#include "base/bytes/sha.hpp"

namespace skiff {

Sha256::Sha256() {
  SHA256_Init(&context_);
}

void Sha256::add(std::string_view bytes) {
  SHA256_Update(&context_, bytes.data(), bytes.size());
}

Sha256::Digest Sha256::digest() const {
  SHA256_CTX copy = context_;
  Digest digest{};
  SHA256_Final(digest.data(), &copy);
  return digest;
}

Sha256::Digest Sha256::of(std::string_view bytes) {
  Sha256 hash;
  hash.add(bytes);
  return hash.digest();
}

std::array<unsigned char, SHA_DIGEST_LENGTH> sha1(std::string_view bytes) {
  SHA_CTX context{};
  SHA1_Init(&context);
  SHA1_Update(&context, bytes.data(), bytes.size());
  std::array<unsigned char, SHA_DIGEST_LENGTH> digest{};
  SHA1_Final(digest.data(), &context);
  return digest;
}

std::string to_hex(const Sha256::Digest& digest) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text(2 * digest.size(), '\0');
  auto to = text.begin();
  for (const unsigned char byte : digest) {
    *to++ = kDigits[byte >> 4U];
    *to++ = kDigits[byte & 15U];
  }
  return text;
}

}  // namespace skiff
