#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <stdexcept>
#include <string>
#include <utility>

#include "tests/support/temporary_directory.hpp"

/// Creates self-signed certificates for 127.0.0.1, "box.test" and names below it.
namespace skiff::test {

struct Certificate {
  std::string certificate_pem;
  std::string key_pem;
};

inline std::string take_text(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  std::string text{data, static_cast<std::size_t>(size)};
  BIO_free(bio);
  return text;
}

/// Creates a certificate; it takes ownership of `key`.
inline Certificate make_certificate(EVP_PKEY* key = EVP_EC_gen("P-256")) {
  X509* certificate = X509_new();
  X509_set_version(certificate, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
  X509_set_pubkey(certificate, key);
  X509_NAME* name = X509_get_subject_name(certificate);
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("test"), -1, -1, 0);
  X509_set_issuer_name(certificate, name);
  for (const auto& [id, value] : {std::pair{NID_subject_alt_name, "IP:127.0.0.1,DNS:box.test,DNS:*.box.test"},
                                  std::pair{NID_basic_constraints, "critical,CA:TRUE"}}) {
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, id, value);
    X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
  }
  if (X509_sign(certificate, key, EVP_sha256()) == 0) throw std::runtime_error{"can't sign a test certificate"};
  Certificate made;
  BIO* bio = BIO_new(BIO_s_mem());
  PEM_write_bio_X509(bio, certificate);
  made.certificate_pem = take_text(bio);
  bio = BIO_new(BIO_s_mem());
  PEM_write_bio_PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr);
  made.key_pem = take_text(bio);
  X509_free(certificate);
  EVP_PKEY_free(key);
  return made;
}

}  // namespace skiff::test
