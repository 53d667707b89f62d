#include "protocol/net/trust/program_trust.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <iterator>
#include <utility>

#include "base/small_file.hpp"
#include "protocol/net/trust/java_trust.hpp"

namespace skiff::protocol {
namespace {

/// Variables that name a file of trusted certificates for some program.
constexpr std::array kBundleVariables = std::to_array<std::string_view>(
    {"AWS_CA_BUNDLE", "CARGO_HTTP_CAINFO", "CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO",
     "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", "HTTPLIB2_CA_CERTS", "NIX_SSL_CERT_FILE", "NPM_CONFIG_CAFILE", "PIP_CERT",
     "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE"});
/// These programs add the file to their own certificates.
constexpr std::array kOwnVariables = std::to_array<std::string_view>({"DENO_CERT", "NODE_EXTRA_CA_CERTS"});

constexpr std::string_view kPemBegin = "-----BEGIN CERTIFICATE-----";

/// Our certificates beside those that Chromium has built in. It reads neither variables nor files of the system.
std::string chromium_policy(std::string_view ca_pem) {
  std::string list;
  for (std::size_t begin = 0; (begin = ca_pem.find(kPemBegin, begin)) != std::string_view::npos;) {
    begin += kPemBegin.size();
    const std::string_view body = ca_pem.substr(begin, ca_pem.find("-----END", begin) - begin);
    list.append(list.empty() ? "\"" : ",\"");
    std::ranges::copy_if(body, std::back_inserter(list),
                         [](char c) { return std::isspace(static_cast<unsigned char>(c)) == 0; });
    list += '"';
  }
  return "{\"CACertificates\":[" + list + "]}\n";
}

}  // namespace

std::string system_certificates() {
  constexpr std::size_t kLargest = std::size_t{4} << 20U;
  for (const char* const place : {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
                                  "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"}) {
    if (auto text = read_small_file(place, kLargest)) return std::move(*text) + "\n";
  }
  return {};
}

Result<std::map<std::string_view, std::string>> trust_files(const std::string& ca_pem) {
  std::string bundle = system_certificates() + ca_pem;
  SKIFF_TRY(auto store, java_trust_store(bundle));
  return std::map<std::string_view, std::string>{{kOwnCertificates, ca_pem},
                                                 {kCertificateBundle, std::move(bundle)},
                                                 {kJavaTrustStore, std::move(store)},
                                                 {kChromiumPolicy, chromium_policy(ca_pem)}};
}

void add_trust_variables(const std::string& directory, std::map<std::string, std::string>& environment) {
  const auto add = [&](std::string_view name, std::string_view file) {
    environment.try_emplace(std::string{name}, std::string{directory}.append("/").append(file));
  };
  for (const std::string_view name : kBundleVariables) add(name, kCertificateBundle);
  for (const std::string_view name : kOwnVariables) add(name, kOwnCertificates);
}

std::vector<TrustSettings> trust_settings(const std::string& directory) {
  const std::string bundle = std::string{directory}.append("/").append(kCertificateBundle);
  return {{.path = directory + "/wgetrc", .variable = "WGETRC", .text = "ca_certificate = " + bundle + "\n"},
          {.path = directory + "/apt.conf",
           .variable = "APT_CONFIG",
           .text = "Acquire::https::CaInfo \"" + bundle + "\";\n"}};
}

void add_settings_variables(const std::string& directory, std::map<std::string, std::string>& environment) {
  for (const auto& file : trust_settings(directory)) environment.try_emplace(file.variable, file.path);
  // JAVA_TOOL_OPTIONS would tell every JVM, but each of them says so on stderr.
  const std::string store = "-Djavax.net.ssl.trustStore=" + directory + "/" + std::string{kJavaTrustStore};
  for (const char* const name : {"GRADLE_OPTS", "MAVEN_OPTS"}) environment.try_emplace(name, store);
}

}  // namespace skiff::protocol
