#include "container/agent/signing_key.hpp"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <algorithm>
#include <utility>

#include "base/bytes/sha.hpp"

namespace skiff::container {
namespace {

constexpr std::size_t kSignatureBytes = 64;
constexpr std::size_t kFingerprintDigits = 12;
constexpr std::string_view kPemEnd = "-----END PRIVATE KEY-----";

using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;

EVP_PKEY* pkey(const std::shared_ptr<void>& key) {
  return static_cast<EVP_PKEY*>(key.get());
}

std::shared_ptr<void> owned(EVP_PKEY* key) {
  return {key, [](void* it) { EVP_PKEY_free(static_cast<EVP_PKEY*>(it)); }};
}

/// Returns what `write` puts into a memory BIO; the BIO is wiped when it is freed.
template <class Write>
Result<std::string> to_pem(Write write) {
  const Bio bio{BIO_new(BIO_s_secmem()), &BIO_free};
  if (!bio || write(bio.get()) != 1) return fail(Errc::internal, "OpenSSL cannot write the key");
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return std::string{data, static_cast<std::size_t>(size)};
}

}  // namespace

Result<SigningKey> SigningKey::generate() {
  auto key = owned(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
  if (!key) return fail(Errc::internal, "OpenSSL cannot create an Ed25519 key");
  return SigningKey{std::move(key)};
}

Result<SigningKey> SigningKey::parse_pem(std::string_view pem) {
  const Bio bio{BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), &BIO_free};
  // An encrypted key must not make OpenSSL ask for a password on the terminal.
  const auto no_password = [](char*, int, int, void*) { return -1; };
  auto key = owned(bio ? PEM_read_bio_PrivateKey(bio.get(), nullptr, no_password, nullptr) : nullptr);
  if (!key || EVP_PKEY_id(pkey(key)) != EVP_PKEY_ED25519) {
    return fail(Errc::invalid_field, "it is not an Ed25519 private key in PEM");
  }
  return SigningKey{std::move(key)};
}

Result<std::vector<SigningKey>> SigningKey::parse_pems(std::string_view pems) {
  std::vector<SigningKey> keys;
  for (;;) {
    const std::size_t end = pems.find(kPemEnd);
    if (end == std::string_view::npos) break;
    SKIFF_TRY(auto key, parse_pem(pems.substr(0, end + kPemEnd.size())));
    keys.push_back(std::move(key));
    pems.remove_prefix(end + kPemEnd.size());
  }
  if (pems.find_first_not_of("\r\n ") == std::string_view::npos) return keys;
  return fail(Errc::invalid_field, "it contains something other than Ed25519 private keys in PEM");
}

Result<std::string> SigningKey::public_pem() const {
  return to_pem([this](BIO* bio) { return PEM_write_bio_PUBKEY(bio, pkey(key_)); });
}

bool SigningKey::is_known_to(std::string_view text) const {
  const auto pem = public_pem();
  if (!pem) return false;
  // Search for the line between the first and the last line, which all keys share: in JSON the line breaks are escaped.
  const std::size_t begin = pem->find('\n') + 1;
  return text.contains(std::string_view{*pem}.substr(begin, pem->find('\n', begin) - begin));
}

Result<std::string> SigningKey::fingerprint() const {
  auto pem = public_pem();
  if (!pem) return pem;
  return to_hex(Sha256::of(*pem)).substr(0, kFingerprintDigits);
}

Result<std::string> SigningKey::private_pem() const {
  return to_pem([this](BIO* bio) {
    return PEM_write_bio_PKCS8PrivateKey(bio, pkey(key_), nullptr, nullptr, 0, nullptr, nullptr);
  });
}

Result<std::string> SigningKey::sign(std::string_view message) const {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context{EVP_MD_CTX_new(), &EVP_MD_CTX_free};
  std::string signature(kSignatureBytes, '\0');
  std::size_t size = signature.size();
  if (!context || EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, pkey(key_)) != 1 ||
      EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                     reinterpret_cast<const unsigned char*>(message.data()), message.size()) != 1 ||
      size != kSignatureBytes) {
    return fail(Errc::internal, "OpenSSL cannot sign");
  }
  return signature;
}

const SigningKey& SigningKeys::of_agent(std::string_view configured) const {
  if (current.is_known_to(configured)) return current;
  const auto known = std::ranges::find_if(older, [&](const SigningKey& key) { return key.is_known_to(configured); });
  return known == older.end() ? current : *known;
}

bool SigningKeys::are_known_to(std::string_view configured) const {
  return of_agent(configured).is_known_to(configured);
}

}  // namespace skiff::container
