#include "protocol/net/program_trust.hpp"

#include <array>
#include <cstddef>
#include <utility>

#include "base/small_file.hpp"

namespace skiff::protocol {
namespace {

/// Variables that name a file of trusted certificates for some program.
constexpr std::array kBundleVariables = std::to_array<std::string_view>(
    {"AWS_CA_BUNDLE", "CARGO_HTTP_CAINFO", "CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO",
     "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", "HTTPLIB2_CA_CERTS", "NIX_SSL_CERT_FILE", "NPM_CONFIG_CAFILE", "PIP_CERT",
     "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE"});
/// These programs add the file to their own certificates.
constexpr std::array kOwnVariables = std::to_array<std::string_view>({"DENO_CERT", "NODE_EXTRA_CA_CERTS"});

}  // namespace

std::string system_certificates() {
  constexpr std::size_t kLargest = std::size_t{4} << 20U;
  for (const char* const place : {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
                                  "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"}) {
    if (auto text = read_small_file(place, kLargest)) return std::move(*text) + "\n";
  }
  return {};
}

void add_trust_variables(const std::string& directory, std::map<std::string, std::string>& environment) {
  const auto add = [&](std::string_view name, std::string_view file) {
    environment.try_emplace(std::string{name}, std::string{directory}.append(file));
  };
  for (const std::string_view name : kBundleVariables) add(name, kCertificateBundle);
  for (const std::string_view name : kOwnVariables) add(name, kOwnCertificates);
}

std::vector<TrustSettings> trust_settings(const std::string& directory) {
  const std::string bundle = std::string{directory}.append(kCertificateBundle);
  return {{.path = directory + "/wgetrc", .variable = "WGETRC", .text = "ca_certificate = " + bundle + "\n"},
          {.path = directory + "/apt.conf",
           .variable = "APT_CONFIG",
           .text = "Acquire::https::CaInfo \"" + bundle + "\";\n"}};
}

}  // namespace skiff::protocol
