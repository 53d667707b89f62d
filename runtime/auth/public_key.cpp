#include "runtime/auth/public_key.hpp"

#include <openssl/evp.h>

#include <algorithm>

#include "base/small_file.hpp"
#include "protocol/json/base64.hpp"

namespace skiff::runtime {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kBegin = "-----BEGIN PUBLIC KEY-----";
constexpr std::string_view kEnd = "-----END PUBLIC KEY-----";
constexpr std::string_view kBlank = " \t\r\n";
constexpr std::size_t kLongestPemFile = 64 * 1024;

// The bytes before the 32 bytes of the key in a SubjectPublicKeyInfo (RFC 8410 section 4). DER has only one encoding,
// so no parser is needed.
constexpr std::string_view kEd25519Prefix = "\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00"sv;
constexpr std::size_t kEd25519KeyBytes = 32;

std::string_view trimmed_front(std::string_view text) noexcept {
  text.remove_prefix(std::min(text.find_first_not_of(kBlank), text.size()));
  return text;
}

}  // namespace

Result<std::vector<PublicKey>> PublicKey::parse_pem(std::string_view pem) {
  std::vector<PublicKey> keys;
  for (pem = trimmed_front(pem); !pem.empty(); pem = trimmed_front(pem)) {
    if (!pem.starts_with(kBegin)) {
      return fail(Errc::invalid_field, pem.contains("PRIVATE KEY")
                                           ? "it contains a private key, which must not be in a sandbox"
                                           : "expected \"-----BEGIN PUBLIC KEY-----\" (PEM)");
    }
    pem.remove_prefix(kBegin.size());
    const std::size_t end = pem.find(kEnd);
    if (end == std::string_view::npos) return fail(Errc::invalid_field, "\"-----END PUBLIC KEY-----\" is missing");
    std::string body{pem.substr(0, end)};
    pem.remove_prefix(end + kEnd.size());
    std::erase_if(body, [](char c) { return kBlank.contains(c); });
    const auto der = protocol::decode_base64(body);
    if (!der) return fail(Errc::invalid_field, "the text between BEGIN and END is not base64");
    if (!der->starts_with(kEd25519Prefix) || der->size() != kEd25519Prefix.size() + kEd25519KeyBytes) {
      return fail(Errc::invalid_field, "it is not an Ed25519 key");
    }
    const auto* raw = reinterpret_cast<const unsigned char*>(der->data()) + kEd25519Prefix.size();
    std::shared_ptr<void> key{EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, raw, kEd25519KeyBytes),
                              [](void* it) { EVP_PKEY_free(static_cast<EVP_PKEY*>(it)); }};
    if (!key) return fail(Errc::invalid_field, "OpenSSL does not take the key");
    keys.push_back(PublicKey{std::move(key)});
  }
  if (keys.empty()) return fail(Errc::invalid_field, "it contains no key");
  return keys;
}

Result<std::vector<PublicKey>> PublicKey::read_pem_file(const std::string& path) {
  SKIFF_TRY(auto text, read_small_file(path, kLongestPemFile));
  auto keys = parse_pem(text);
  // Wipe the text, which may be a private key by mistake.
  wipe(text);
  if (!keys) keys.error().message = "\"" + path + "\": " + keys.error().message;
  return keys;
}

bool PublicKey::verify(std::string_view message, std::span<const unsigned char> signature) const {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context{EVP_MD_CTX_new(), &EVP_MD_CTX_free};
  return context &&
         EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, static_cast<EVP_PKEY*>(key_.get())) == 1 &&
         EVP_DigestVerify(context.get(), signature.data(), signature.size(),
                          reinterpret_cast<const unsigned char*>(message.data()), message.size()) == 1;
}

}  // namespace skiff::runtime
