#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include "base/clock.hpp"
#include "protocol/json/base64.hpp"

namespace skiff::test {

/// When a token is presented; its claims tell times around it.
inline constexpr WallTime kNow{std::chrono::seconds{1'800'000'000}};

/// The issuer's side, made with OpenSSL's own writers: a private key that signs JWTs.
class SigningKey {
 public:
  explicit SigningKey(const char* type = "ED25519") : key_{EVP_PKEY_Q_keygen(nullptr, nullptr, type), &EVP_PKEY_free} {}

  [[nodiscard]] std::string public_pem() const {
    return pem([this](BIO* bio) { PEM_write_bio_PUBKEY(bio, key_.get()); });
  }
  [[nodiscard]] std::string private_pem() const {
    return pem([this](BIO* bio) { PEM_write_bio_PrivateKey(bio, key_.get(), nullptr, nullptr, 0, nullptr, nullptr); });
  }

  [[nodiscard]] std::string sign(std::string_view text) const {
    const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context{EVP_MD_CTX_new(), &EVP_MD_CTX_free};
    std::string signature(64, '\0');
    std::size_t size = signature.size();
    EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key_.get());
    EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                   reinterpret_cast<const unsigned char*>(text.data()), text.size());
    signature.resize(size);
    return signature;
  }

  [[nodiscard]] std::string jwt(std::string_view claims,
                                std::string_view header = R"({"alg":"EdDSA","typ":"JWT"})") const {
    const std::string text = protocol::encode_base64url(header) + "." + protocol::encode_base64url(claims);
    return text + "." + protocol::encode_base64url(sign(text));
  }

 private:
  template <class Write>
  static std::string pem(Write write) {
    const std::unique_ptr<BIO, decltype(&BIO_free)> bio{BIO_new(BIO_s_mem()), &BIO_free};
    write(bio.get());
    char* data = nullptr;
    const long size = BIO_get_mem_data(bio.get(), &data);
    return {data, static_cast<std::size_t>(size)};
  }

  std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key_;
};

}  // namespace skiff::test
