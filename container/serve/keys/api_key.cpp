#include "container/serve/keys/api_key.hpp"

#include <algorithm>
#include <cstddef>
#include <span>

#include <openssl/hmac.h>

#include "base/bytes/sha.hpp"
#include "base/id.hpp"
#include "container/serve/gateway/credential_form.hpp"

namespace skiff::container::serve {
namespace {

std::string hex_of(std::span<const unsigned char> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : bytes) {
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 15U];
  }
  return text;
}

template <std::size_t size>
std::string random_hex() {
  std::array<unsigned char, size> bytes{};
  random_bytes(std::as_writable_bytes(std::span{bytes}));
  return hex_of(bytes);
}

/// Compares in a time that depends only on the lengths.
bool is_same(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned>(static_cast<unsigned char>(b[i]));
  }
  return difference == 0;
}

/// A token as long as the code, which begins with the nonce.
std::string with_nonce(std::string_view nonce, const std::string& code) {
  return std::string{nonce} + code.substr(0, code.size() - std::min(nonce.size(), code.size()));
}

}  // namespace

bool ApiKey::allows(KeyScope scope) const {
  return std::ranges::any_of(scopes, [&](KeyScope own) { return own == scope || own == KeyScope::admin; });
}

bool ApiKey::has_ended(WallTime now) const {
  return expires_ms && WallTime{std::chrono::milliseconds{*expires_ms}} <= now;
}

std::string new_api_key() {
  return std::string{kKeyPrefix} + random_hex<20>();
}

std::string new_token_secret() {
  return random_hex<32>();
}

std::string new_nonce() {
  return random_hex<8>();
}

std::string sha256_hex(std::string_view text) {
  return to_hex(Sha256::of(text));
}

Result<ApiKey> find_key(const KeyRing& ring, std::string_view presented, WallTime now) {
  const std::string digest = sha256_hex(presented);
  const ApiKey* found = nullptr;
  for (const ApiKey& key : ring.keys) {
    if (is_same(key.sha256, digest)) found = &key;
  }
  if (found == nullptr || found->has_ended(now)) {
    return fail(Errc::unauthenticated, "the API key is not valid");
  }
  return *found;
}

std::string derived_secret(std::string_view token_secret, std::string_view purpose) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> code{};
  unsigned size = 0;
  ::HMAC(EVP_sha256(), token_secret.data(), static_cast<int>(token_secret.size()),
         reinterpret_cast<const unsigned char*>(purpose.data()), purpose.size(), code.data(), &size);
  return hex_of(code);
}

std::string access_token(std::string_view token_secret, std::string_view tenant, std::string_view sandbox,
                         std::string_view nonce) {
  // Names contain no slash, so the parts are unambiguous.
  return with_nonce(
      nonce, derived_secret(
                 token_secret,
                 std::string{"sandbox/"}.append(tenant).append(1, '/').append(sandbox).append(1, '/').append(nonce)));
}

std::string traffic_token(std::string_view access_token, std::string_view nonce) {
  return with_nonce(nonce, derived_secret(access_token, "traffic"));
}

}  // namespace skiff::container::serve
