#include "container/kube/auth/certificate.hpp"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <ctime>
#include <memory>
#include <string>

#include "container/net/time.hpp"

namespace skiff::kube {
namespace {

WallTime wall_time(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return {};
  return WallTime{std::chrono::seconds{::timegm(&parts)}};
}

}  // namespace

Result<> check_certificate(std::string_view pem, WallTime now, std::string_view what) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> bio{BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())),
                                                      &BIO_free};
  const std::unique_ptr<X509, decltype(&X509_free)> certificate{
      bio ? PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr) : nullptr, &X509_free};
  ERR_clear_error();
  if (!certificate) return fail(Errc::invalid_field, std::string{what} + " is not a PEM certificate");
  if (const WallTime end = wall_time(X509_get0_notAfter(certificate.get())); end <= now) {
    return fail(Errc::unauthenticated, std::string{what} + " expired at " + net::format_time(end) +
                                           ": get a new kubeconfig from the cluster's operator");
  }
  if (const WallTime begin = wall_time(X509_get0_notBefore(certificate.get())); begin > now) {
    return fail(Errc::unauthenticated, std::string{what} + " is not valid before " + net::format_time(begin) +
                                           ": is this machine's clock right?");
  }
  return {};
}

}  // namespace skiff::kube
