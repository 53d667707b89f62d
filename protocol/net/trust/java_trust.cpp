#include "protocol/net/trust/java_trust.hpp"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/x509.h>

#include <cstddef>

namespace skiff::protocol {
namespace {

/// The objects of OpenSSL that become the store.
struct StoreParts {
  BIO* text = nullptr;
  STACK_OF(PKCS12_SAFEBAG) * bags = sk_PKCS12_SAFEBAG_new_null();
  STACK_OF(PKCS7) * safes = nullptr;
  PKCS12* store = nullptr;
  unsigned char* bytes = nullptr;

  explicit StoreParts(const std::string& pem) : text{BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()))} {}
  StoreParts(const StoreParts&) = delete;
  StoreParts& operator=(const StoreParts&) = delete;
  ~StoreParts() {
    OPENSSL_free(bytes);
    PKCS12_free(store);
    sk_PKCS7_pop_free(safes, PKCS7_free);
    sk_PKCS12_SAFEBAG_pop_free(bags, PKCS12_SAFEBAG_free);
    BIO_free(text);
    ERR_clear_error();
  }
};

/// `trustedKeyUsage` of Java, with any purpose. Without it Java takes a certificate that has no key for part of a
/// chain.
bool add_trusted(StoreParts& parts, X509* certificate) {
  constexpr const char* kTrustedKeyUsage = "2.16.840.1.113894.746875.1.1";
  const auto* const any = reinterpret_cast<const unsigned char*>(OBJ_nid2obj(NID_anyExtendedKeyUsage));
  PKCS12_SAFEBAG* const bag = PKCS12_add_cert(&parts.bags, certificate);
  return bag != nullptr && PKCS12_add1_attr_by_txt(bag, kTrustedKeyUsage, V_ASN1_OBJECT, any, -1) == 1;
}

bool add_all(StoreParts& parts) {
  while (parts.text != nullptr && BIO_pending(parts.text) > 0) {
    X509* const certificate = PEM_read_bio_X509(parts.text, nullptr, nullptr, nullptr);
    if (certificate == nullptr) continue;
    const bool is_added = add_trusted(parts, certificate);
    X509_free(certificate);
    if (!is_added) return false;
  }
  return parts.text != nullptr;
}

}  // namespace

Result<std::string> java_trust_store(const std::string& pem) {
  // It is neither encrypted nor signed: all in it is public, and everybody would have to know the password.
  constexpr int kPlain = -1;
  StoreParts parts{pem};
  int size = -1;
  if (add_all(parts) && PKCS12_add_safe(&parts.safes, parts.bags, kPlain, 0, nullptr) == 1) {
    parts.store = PKCS12_add_safes(parts.safes, 0);
    size = i2d_PKCS12(parts.store, &parts.bytes);
  }
  if (size <= 0) return fail(Errc::internal, "a trust store for Java could not be made of the certificates");
  return std::string{reinterpret_cast<const char*>(parts.bytes), static_cast<std::size_t>(size)};
}

}  // namespace skiff::protocol
