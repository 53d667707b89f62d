#include "protocol/net/trust/java_trust.hpp"

#include <openssl/pkcs12.h>

#include <cstddef>

#include <gtest/gtest.h>

#include "tests/protocol/net/test_certificate.hpp"

namespace skiff::protocol {
namespace {

/// The number of certificates that Java would trust.
std::size_t trusted_in(const std::string& store) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(store.data());
  PKCS12* const read = d2i_PKCS12(nullptr, &bytes, static_cast<long>(store.size()));
  STACK_OF(PKCS7)* const safes = PKCS12_unpack_authsafes(read);
  STACK_OF(PKCS12_SAFEBAG)* const bags = PKCS12_unpack_p7data(sk_PKCS7_value(safes, 0));
  ASN1_OBJECT* const usage = OBJ_txt2obj("2.16.840.1.113894.746875.1.1", 1);
  std::size_t trusted = 0;
  for (int i = 0; i < sk_PKCS12_SAFEBAG_num(bags); ++i) {
    const auto* const attributes = PKCS12_SAFEBAG_get0_attrs(sk_PKCS12_SAFEBAG_value(bags, i));
    if (X509at_get_attr_by_OBJ(attributes, usage, -1) >= 0) ++trusted;
  }
  ASN1_OBJECT_free(usage);
  sk_PKCS12_SAFEBAG_pop_free(bags, PKCS12_SAFEBAG_free);
  sk_PKCS7_pop_free(safes, PKCS7_free);
  PKCS12_free(read);
  return trusted;
}

TEST(JavaTrust, HasEachCertificateAsTrusted) {
  const std::string one = test::make_certificate().certificate_pem;
  const std::string other = test::make_certificate().certificate_pem;
  EXPECT_EQ(trusted_in(java_trust_store(one + "\n# text\n" + other).value()), 2U);
}

TEST(JavaTrust, LeavesOutWhatIsNoCertificate) {
  const std::string one = test::make_certificate().certificate_pem;
  const std::string broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
  const std::string endless = "-----BEGIN CERTIFICATE-----\nAAAA\n";
  EXPECT_EQ(trusted_in(java_trust_store(broken + one + broken + one + endless).value()), 2U);
  EXPECT_EQ(trusted_in(java_trust_store(test::make_certificate().key_pem).value()), 0U);
  EXPECT_EQ(trusted_in(java_trust_store("").value()), 0U);
}

}  // namespace
}  // namespace skiff::protocol
