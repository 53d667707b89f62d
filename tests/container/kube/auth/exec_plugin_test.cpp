#include "container/kube/auth/exec_plugin.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/temporary_directory.hpp"

namespace skiff::kube {
namespace {

/// A plugin that is a shell script.
Access with_script(const std::string& script) {
  Access access{.origin = "a test", .server = {.host = "c.example", .port = 6443}};
  access.identity.exec = ExecPlugin{.api_version = "client.authentication.k8s.io/v1",
                                    .command = "sh",
                                    .arguments = {"-c", script},
                                    .environment = {},
                                    .install_hint = "install it with apt",
                                    .provide_cluster_info = false,
                                    .interactive_mode = "Never"};
  return access;
}

std::string printing(const std::string& status) {
  return R"(printf '%s' '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":)" + status +
         "}'";
}

std::string plugin_problem(const Access& access) {
  const auto credential = run_exec_plugin(access);
  return credential ? "no problem" : credential.error().message;
}

TEST(ExecPlugin, GivesATokenOrACertificate) {
  const auto token =
      run_exec_plugin(with_script(printing(R"({"token":"abc","expirationTimestamp":"2030-01-01T00:00:00Z"})")));
  ASSERT_TRUE(token.has_value()) << token.error().message;
  EXPECT_EQ(token->token, "abc");
  EXPECT_TRUE(token->expires.has_value());
  const auto certificate =
      run_exec_plugin(with_script(printing(R"({"clientCertificateData":"C","clientKeyData":"K"})")));
  ASSERT_TRUE(certificate.has_value()) << certificate.error().message;
  EXPECT_EQ(certificate->certificate_pem, "C");
  EXPECT_EQ(certificate->key_pem, "K");
  EXPECT_FALSE(certificate->expires.has_value());
}

TEST(ExecPlugin, SeesItsEnvironmentAndNoInput) {
  Access access = with_script(R"(read line && exit 3; )" + printing(R"({"token":"'"$GREETING-$HOME"'"})"));
  access.identity.exec->environment = {{"GREETING", "hello"}, {"HOME", "/elsewhere"}};
  const auto credential = run_exec_plugin(access);
  ASSERT_TRUE(credential.has_value()) << credential.error().message;
  EXPECT_EQ(credential->token, "hello-/elsewhere");
}

TEST(ExecPlugin, IsToldAboutTheClusterOnlyIfItAsks) {
  Access access = with_script("");
  access.ca_pem = "ca";
  access.tls_server_name = "name";
  const auto quiet = nlohmann::json::parse(exec_info(*access.identity.exec, access, false));
  EXPECT_EQ(quiet, nlohmann::json::parse(R"({"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential",
                                             "spec":{"interactive":false}})"));
  access.identity.exec->provide_cluster_info = true;
  const auto told = nlohmann::json::parse(exec_info(*access.identity.exec, access, true));
  EXPECT_EQ(told["spec"], nlohmann::json::parse(R"({"interactive":true,"cluster":{"server":"https://c.example:6443",
      "certificate-authority-data":"Y2E=","tls-server-name":"name"}})"));
  access.exec_config = R"({"audience":"c"})";
  const auto configured = nlohmann::json::parse(exec_info(*access.identity.exec, access, true));
  EXPECT_EQ(configured["spec"]["cluster"]["config"], nlohmann::json::parse(R"({"audience":"c"})"));
  access = with_script(R"(case "$KUBERNETES_EXEC_INFO" in *ExecCredential*) ;; *) exit 4;; esac; )" +
                       printing(R"({"token":"t"})"));
  EXPECT_EQ(plugin_problem(access), "no problem");
}

TEST(ExecPlugin, SaysWhyItGaveNothing) {
  Access missing = with_script("");
  missing.identity.exec->command = "skiff-no-such-plugin";
  EXPECT_EQ(plugin_problem(missing),
            "the credential plugin \"skiff-no-such-plugin\" is not installed; install it with apt");
  EXPECT_EQ(plugin_problem(with_script("exit 7")),
            "the credential plugin \"sh\" failed with status 7; install it with apt");
  EXPECT_NE(plugin_problem(with_script("kill -9 $$")).find("signal 9"), std::string::npos);
  EXPECT_NE(plugin_problem(with_script("echo nonsense")).find("no usable ExecCredential"), std::string::npos);
  EXPECT_NE(plugin_problem(with_script(printing("{}"))).find("neither a token nor a certificate"), std::string::npos);
  EXPECT_NE(plugin_problem(with_script(printing(R"({"clientKeyData":"K"})"))).find("goes with its key"),
            std::string::npos);
  EXPECT_NE(plugin_problem(with_script(printing(R"({"token":"t","expirationTimestamp":"soon"})"))).find("RFC 3339"),
            std::string::npos);
  Access other = with_script(printing(R"({"token":"t"})"));
  other.identity.exec->api_version = "client.authentication.k8s.io/v1beta1";
  EXPECT_NE(plugin_problem(other).find("apiVersion"), std::string::npos);
}

TEST(ExecPlugin, MayNotPrintWithoutEnd) {
  EXPECT_NE(
      plugin_problem(with_script("while :; do echo 0123456789012345678901234567890123456789; done")).find("over 1 MiB"),
      std::string::npos);
}

TEST(ExecPlugin, LeavesNoDescriptorBehind) {
  const std::size_t before = test::open_descriptors();
  EXPECT_EQ(plugin_problem(with_script(printing(R"({"token":"t"})"))), "no problem");
  EXPECT_NE(plugin_problem(with_script("exit 1")), "no problem");
  EXPECT_EQ(test::open_descriptors(), before);
}

}  // namespace
}  // namespace skiff::kube
