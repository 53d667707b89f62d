#include "protocol/net/trust/program_trust.hpp"

#include <algorithm>

#include <gtest/gtest.h>

namespace skiff::protocol {
namespace {

TEST(ProgramTrust, LeavesVariablesThatAreSet) {
  std::map<std::string, std::string> environment{{"SSL_CERT_FILE", "/mine.pem"}};
  add_trust_variables("/.skiff", environment);
  EXPECT_EQ(environment["SSL_CERT_FILE"], "/mine.pem");
  EXPECT_EQ(environment["CURL_CA_BUNDLE"], "/.skiff/ca-bundle.pem");
  EXPECT_EQ(environment["NODE_EXTRA_CA_CERTS"], "/.skiff/ca.pem");
}

TEST(ProgramTrust, LeavesVariablesThatTheImageHasSet) {
  std::map<std::string, std::string> environment{{"APT_CONFIG", "/mine"}, {"GRADLE_OPTS", "-Xmx1g"}};
  add_settings_variables("/.skiff", environment);
  EXPECT_EQ(environment["WGETRC"], "/.skiff/wgetrc");
  EXPECT_EQ(environment["APT_CONFIG"], "/mine");
  EXPECT_EQ(environment["MAVEN_OPTS"], "-Djavax.net.ssl.trustStore=/.skiff/trust.p12");
  EXPECT_EQ(environment["GRADLE_OPTS"], "-Xmx1g");
}

TEST(ProgramTrust, IsOursAlsoBehindTheSystems) {
  const auto files = trust_files("OURS\n").value();
  EXPECT_EQ(files.at(kOwnCertificates), "OURS\n");
  EXPECT_EQ(files.at(kCertificateBundle), system_certificates() + "OURS\n");
  EXPECT_TRUE(std::ranges::all_of(kTrustFiles, [&](std::string_view name) { return files.contains(name); }));
}

TEST(ProgramTrust, IsAPolicyOfChromium) {
  const std::string pem = "-----BEGIN CERTIFICATE-----\nAA\r\nBB=\n-----END CERTIFICATE-----\n";
  EXPECT_EQ(trust_files(pem + "text\n" + pem).value().at(kChromiumPolicy),
            "{\"CACertificates\":[\"AABB=\",\"AABB=\"]}\n");
  EXPECT_EQ(trust_files("\"]").value().at(kChromiumPolicy), "{\"CACertificates\":[]}\n");
}

TEST(ProgramTrust, TellsProgramsThatKnowNoVariable) {
  const auto files = trust_settings("/.skiff");
  ASSERT_EQ(files.size(), 2U);
  EXPECT_EQ(files[0].path, "/.skiff/wgetrc");
  EXPECT_EQ(files[0].text, "ca_certificate = /.skiff/ca-bundle.pem\n");
  EXPECT_EQ(files[1].text, "Acquire::https::CaInfo \"/.skiff/ca-bundle.pem\";\n");
}

}  // namespace
}  // namespace skiff::protocol
