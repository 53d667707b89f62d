#include "container/console/session_seal.hpp"

#include <openssl/evp.h>

#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/bytes/sha.hpp"
#include "base/id.hpp"
#include "container/serve/keys/api_key.hpp"
#include "protocol/json/base64.hpp"

namespace skiff::container::console {
namespace {

using std::chrono::seconds;

constexpr std::size_t kNonceSize = 12;
constexpr std::size_t kTagSize = 16;
constexpr std::size_t kMostEndDigits = 12;
/// An API key has 44 bytes.
constexpr std::size_t kLongestKey = 256;

using Context = std::unique_ptr<EVP_CIPHER_CTX, decltype(&::EVP_CIPHER_CTX_free)>;

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}
unsigned char* bytes_of(std::string& text) {
  return reinterpret_cast<unsigned char*>(text.data());
}
int size_of(std::string_view text) {
  return static_cast<int>(text.size());
}

/// The end is authenticated, too, because it stands in front of what is sealed.
std::string claims_of(std::string_view end) {
  return std::string{"skiff console 1\n"}.append(end);
}

/// An empty context if memory is short.
Context begin(std::string_view secret, std::string_view nonce, std::string_view claims, bool seals) {
  Context context{::EVP_CIPHER_CTX_new(), &::EVP_CIPHER_CTX_free};
  int size = 0;
  const bool began = context &&
                     ::EVP_CipherInit_ex(context.get(), ::EVP_aes_256_gcm(), nullptr, bytes_of(secret), bytes_of(nonce),
                                         seals ? 1 : 0) == 1 &&
                     ::EVP_CipherUpdate(context.get(), nullptr, &size, bytes_of(claims), size_of(claims)) == 1;
  return began ? std::move(context) : Context{nullptr, &::EVP_CIPHER_CTX_free};
}

}  // namespace

SessionSeal::SessionSeal(std::string_view token_secret) {
  const Sha256::Digest digest = Sha256::of(serve::derived_secret(token_secret, "console/sessions"));
  secret_.assign(reinterpret_cast<const char*>(digest.data()), digest.size());
}

std::string SessionSeal::seal(const Session& session) const {
  const std::string end = std::to_string(std::chrono::floor<seconds>(session.ends).time_since_epoch().count());
  std::string nonce(kNonceSize, '\0');
  random_bytes(std::as_writable_bytes(std::span{nonce}));
  const Context context = begin(secret_, nonce, claims_of(end), true);
  std::string hidden(session.key.size(), '\0');
  std::string tag(kTagSize, '\0');
  int size = 0;
  const bool is_sealed = context != nullptr &&
                         ::EVP_CipherUpdate(context.get(), bytes_of(hidden), &size,
                                            bytes_of(std::string_view{session.key}), size_of(session.key)) == 1 &&
                         ::EVP_CipherFinal_ex(context.get(), bytes_of(hidden) + size, &size) == 1 &&
                         ::EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_GET_TAG, kTagSize, tag.data()) == 1;
  // `open` refuses an empty text.
  return is_sealed ? end + "." + protocol::encode_base64url(nonce + hidden + tag) : std::string{};
}

std::optional<Session> SessionSeal::open(std::string_view text, WallTime now) const {
  const std::size_t dot = text.find('.');
  if (dot == 0 || dot > kMostEndDigits) return std::nullopt;
  const std::string_view end = text.substr(0, dot);
  std::int64_t end_count = 0;
  const auto [stop, error] = std::from_chars(end.data(), end.data() + end.size(), end_count);
  if (error != std::errc{} || stop != end.data() + end.size()) return std::nullopt;
  // A stranger's number of seconds may be too large for a time.
  const seconds ends{end_count};
  if (std::chrono::floor<seconds>(now.time_since_epoch()) >= ends) return std::nullopt;
  auto sealed = protocol::decode_base64url(text.substr(dot + 1));
  if (!sealed || sealed->size() <= kNonceSize + kTagSize || sealed->size() > kNonceSize + kLongestKey + kTagSize) {
    return std::nullopt;
  }
  const std::string nonce = sealed->substr(0, kNonceSize);
  std::string tag = sealed->substr(sealed->size() - kTagSize);
  const std::string_view hidden = std::string_view{*sealed}.substr(kNonceSize, sealed->size() - kNonceSize - kTagSize);
  const Context context = begin(secret_, nonce, claims_of(end), false);
  std::string key(hidden.size(), '\0');
  int size = 0;
  const bool is_ours =
      context != nullptr &&
      ::EVP_CipherUpdate(context.get(), bytes_of(key), &size, bytes_of(hidden), size_of(hidden)) == 1 &&
      ::EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_SET_TAG, kTagSize, tag.data()) == 1 &&
      ::EVP_CipherFinal_ex(context.get(), bytes_of(key) + size, &size) == 1;
  if (!is_ours) return std::nullopt;
  return Session{.key = std::move(key), .ends = WallTime{ends}};
}

}  // namespace skiff::container::console
