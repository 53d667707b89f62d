#include "container/egress/terminate/authority.hpp"

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <array>
#include <utility>

#include "base/id.hpp"

namespace skiff::container::egress {
namespace {

template <auto free_function>
struct Free {
  template <class T>
  void operator()(T* object) const noexcept {
    free_function(object);
  }
};
using BioPtr = std::unique_ptr<BIO, Free<BIO_free>>;
using CertificatePtr = std::unique_ptr<X509, Free<X509_free>>;
using ExtensionPtr = std::unique_ptr<X509_EXTENSION, Free<X509_EXTENSION_free>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, Free<EVP_PKEY_free>>;

constexpr long kDay = 24L * 60 * 60;
/// Clocks in the sandbox are this machine's, but programs round.
constexpr long kBefore = -60L * 60;
constexpr long kOwnDays = 3650;
constexpr long kLeafDays = 7;
constexpr std::chrono::hours kRenewed{24};
constexpr std::size_t kSerial = 16;

std::unexpected<Error> not_made(const char* what) {
  const char* reason = ERR_reason_error_string(ERR_get_error());
  ERR_clear_error();
  return fail(Errc::internal, std::string{"make a certificate: "} + what + (reason == nullptr ? "" : ": ") +
                                  (reason == nullptr ? "" : reason));
}

bool set_serial(X509* certificate) {
  std::array<unsigned char, kSerial> bytes{};
  if (RAND_bytes(bytes.data(), bytes.size()) != 1) return false;
  bytes[0] = static_cast<unsigned char>((bytes[0] & 0x7fU) | 0x40U);  // positive, and always of the same length
  BIGNUM* number = BN_bin2bn(bytes.data(), bytes.size(), nullptr);
  const bool is_set = number != nullptr && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate)) != nullptr;
  BN_free(number);
  return is_set;
}

bool add_extension(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const ExtensionPtr made{X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str())};
  return made && X509_add_ext(certificate, made.get(), -1) == 1;
}

/// A certificate without extensions and signature.
CertificatePtr blank(EVP_PKEY* key, long days, const std::string& name) {
  CertificatePtr made{X509_new()};
  const bool is_right =
      made && X509_set_version(made.get(), X509_VERSION_3) == 1 && set_serial(made.get()) &&
      X509_gmtime_adj(X509_getm_notBefore(made.get()), kBefore) != nullptr &&
      X509_gmtime_adj(X509_getm_notAfter(made.get()), days * kDay) != nullptr &&
      X509_set_pubkey(made.get(), key) == 1 &&
      X509_NAME_add_entry_by_txt(X509_get_subject_name(made.get()), "O", MBSTRING_ASC,
                                 reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0) == 1;
  return is_right ? std::move(made) : nullptr;
}

template <class Write>
std::string pem_of(Write write) {
  const BioPtr bio{BIO_new(BIO_s_mem())};
  if (!bio || write(bio.get()) != 1) return {};
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

std::string pem_of(X509* certificate) {
  return pem_of([&](BIO* bio) { return PEM_write_bio_X509(bio, certificate); });
}

std::string pem_of(EVP_PKEY* key) {
  return pem_of([&](BIO* bio) { return PEM_write_bio_PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr); });
}

BioPtr reader_of(const std::string& text) {
  return BioPtr{BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))};
}

}  // namespace

struct Authority::Parts {
  KeyPtr key;
  CertificatePtr certificate;
};

Authority::Authority(std::unique_ptr<Parts> parts, const std::vector<std::string>& hosts)
    : parts_{std::move(parts)}, pem_{pem_of(parts_->certificate.get())} {
  for (const std::string& host : hosts) leafs_.emplace(host, Leaf{});
}

Authority::~Authority() = default;

std::string Authority::key_pem() const {
  return pem_of(parts_->key.get());
}

Result<std::unique_ptr<Authority>> Authority::load(const std::string& pem, const std::string& key_pem,
                                                   const std::vector<std::string>& hosts) {
  const BioPtr certificate = reader_of(pem);
  const BioPtr key = reader_of(key_pem);
  // A key with a passphrase is none: nobody is there to type it.
  constexpr auto kNoPassphrase = [](char*, int, int, void*) { return -1; };
  auto parts = std::make_unique<Parts>(
      Parts{.key = KeyPtr{PEM_read_bio_PrivateKey(key.get(), nullptr, kNoPassphrase, nullptr)},
            .certificate = CertificatePtr{PEM_read_bio_X509(certificate.get(), nullptr, kNoPassphrase, nullptr)}});
  const bool belong =
      parts->key && parts->certificate && X509_check_private_key(parts->certificate.get(), parts->key.get()) == 1;
  ERR_clear_error();
  if (!belong) return fail(Errc::invalid_field, "these are not a certificate authority and its key");
  return std::unique_ptr<Authority>{new Authority{std::move(parts), hosts}};
}

Result<std::unique_ptr<Authority>> Authority::create(const std::vector<std::string>& hosts) {
  ERR_clear_error();
  auto parts = std::make_unique<Parts>(Parts{.key = KeyPtr{EVP_EC_gen("P-256")}, .certificate = {}});
  if (!parts->key) return not_made("its key");
  // A sandbox may trust several: some programs find the one that has signed by its name alone.
  parts->certificate = blank(parts->key.get(), kOwnDays, "skiff egress " + new_id("ca-"));
  X509* const own = parts->certificate.get();
  if (own == nullptr) return not_made("its fields");
  // Without the exclusions it could sign for addresses: a kind that is not named is free.
  std::string names = "critical,excluded;IP:0.0.0.0/0.0.0.0,excluded;IP:0:0:0:0:0:0:0:0/0:0:0:0:0:0:0:0";
  for (const std::string& host : hosts) names += ",permitted;DNS:" + host;
  if (X509_set_issuer_name(own, X509_get_subject_name(own)) != 1 ||
      !add_extension(own, own, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") ||
      !add_extension(own, own, NID_key_usage, "critical,keyCertSign") ||
      !add_extension(own, own, NID_subject_key_identifier, "hash") ||
      !add_extension(own, own, NID_name_constraints, names)) {
    return not_made("its extensions");
  }
  if (X509_sign(own, parts->key.get(), EVP_sha256()) == 0) return not_made("its signature");
  return std::unique_ptr<Authority>{new Authority{std::move(parts), hosts}};
}

Result<std::shared_ptr<protocol::TlsContext>> Authority::server(const std::string& host) {
  const auto found = leafs_.find(host);
  if (found == leafs_.end()) return fail(Errc::not_found, "no secret is for " + host);
  const SteadyTime now = std::chrono::steady_clock::now();
  if (found->second.context && now < found->second.until) return found->second.context;
  ERR_clear_error();
  const KeyPtr key{EVP_EC_gen("P-256")};
  if (!key) return not_made("a key");
  const CertificatePtr leaf = blank(key.get(), kLeafDays, "skiff egress");
  X509* const own = parts_->certificate.get();
  if (!leaf || X509_set_issuer_name(leaf.get(), X509_get_subject_name(own)) != 1 ||
      !add_extension(leaf.get(), own, NID_basic_constraints, "critical,CA:FALSE") ||
      !add_extension(leaf.get(), own, NID_key_usage, "critical,digitalSignature") ||
      !add_extension(leaf.get(), own, NID_ext_key_usage, "serverAuth") ||
      !add_extension(leaf.get(), own, NID_authority_key_identifier, "keyid:always") ||
      !add_extension(leaf.get(), own, NID_subject_alt_name, "DNS:" + host)) {
    return not_made("its extensions");
  }
  if (X509_sign(leaf.get(), parts_->key.get(), EVP_sha256()) == 0) return not_made("its signature");
  SKIFF_TRY(auto context,
            protocol::TlsContext::server(
                {.certificate_pem = pem_of(leaf.get()), .key_pem = pem_of(key.get()), .only_http1 = true}));
  found->second = {.until = now + kRenewed, .context = context};
  return context;
}

}  // namespace skiff::container::egress
