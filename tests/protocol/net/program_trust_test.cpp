#include "protocol/net/program_trust.hpp"

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

TEST(ProgramTrust, TellsProgramsThatKnowNoVariable) {
  const auto files = trust_settings("/.skiff");
  ASSERT_EQ(files.size(), 2U);
  EXPECT_EQ(files[0].path, "/.skiff/wgetrc");
  EXPECT_EQ(files[0].text, "ca_certificate = /.skiff/ca-bundle.pem\n");
  EXPECT_EQ(files[1].text, "Acquire::https::CaInfo \"/.skiff/ca-bundle.pem\";\n");
}

}  // namespace
}  // namespace skiff::protocol
