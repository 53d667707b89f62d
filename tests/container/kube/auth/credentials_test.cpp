#include "container/kube/auth/credentials.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <memory>

#include "base/async/task_group.hpp"
#include "base/clock.hpp"
#include "container/net/time.hpp"
#include "tests/protocol/net/test_certificate.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::kube {
namespace {

using test::TemporaryDirectory;

std::shared_ptr<BlockingPool> new_pool() {
  return std::make_shared<BlockingPool>("test", 2);
}

Task<std::string> header(Credentials* credentials) {
  auto credential = co_await credentials->get();
  if (!credential) co_return "failed: " + credential.error().message;
  co_return std::string{credential->headers.get("Authorization")};
}

CO_TEST(Credentials, AreWhatTheKubeconfigSays) {
  Access access;
  access.identity = {.token = "abc", .impersonate = "jane", .impersonate_groups = {"a", "b"}};
  Credentials token{executor, new_pool(), access};
  auto credential = co_await token.get();
  CO_ASSERT_TRUE(credential.has_value());
  EXPECT_EQ(credential->headers.wire(),
            "Authorization: Bearer abc\r\nImpersonate-User: jane\r\nImpersonate-Group: a\r\nImpersonate-Group: b\r\n");
  Access basic;
  basic.identity = {.username = "u", .password = "p"};
  Credentials pair{executor, new_pool(), basic};
  EXPECT_EQ(co_await header(&pair), "Basic dTpw");
  const Access nobody;
  Credentials none{executor, new_pool(), nobody};
  EXPECT_EQ(co_await header(&none), "");
}

CO_TEST(Credentials, FollowATokenFile) {
  const TemporaryDirectory directory;
  Access access;
  access.identity.token_file = directory.write("token", "first\n");
  Credentials credentials{executor, new_pool(), access};
  EXPECT_EQ(co_await header(&credentials), "Bearer first");
  directory.write("token", "second");
  EXPECT_EQ(co_await header(&credentials), "Bearer first") << "it is not read for every request";
  credentials.refused(0);
  EXPECT_EQ(co_await header(&credentials), "Bearer second");
  // While it can't be read, the last one goes on.
  directory.write("token", "");
  credentials.refused(0);
  EXPECT_EQ(co_await header(&credentials), "Bearer second");
}

CO_TEST(Credentials, SayThatATokenFileIsMissing) {
  const TemporaryDirectory directory;
  Access access;
  access.identity.token_file = directory / "none";
  Credentials credentials{executor, new_pool(), access};
  const std::string failed = co_await header(&credentials);
  EXPECT_EQ(failed.find("failed: open"), 0u) << failed;
  directory.write("none", "late");
  EXPECT_EQ(co_await header(&credentials), "Bearer late");
}

/// A plugin that counts its runs in a file and gives the count as its token.
Access counting(const TemporaryDirectory& directory, const std::string& expires) {
  Access access;
  access.identity.exec = ExecPlugin{
      .api_version = "client.authentication.k8s.io/v1",
      .command = "sh",
      .arguments = {"-c",
                    "echo x >>" + (directory / "runs") + "; n=$(wc -l <" + (directory / "runs") +
                        R"(); echo "{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\",)"
                        R"(\"status\":{\"token\":\"run-$n\",\"expirationTimestamp\":\")" +
                        expires + R"(\"}}")"},
      .environment = {},
      .install_hint = {},
      .provide_cluster_info = false,
      .interactive_mode = "Never"};
  return access;
}

CO_TEST(Credentials, KeepWhatAPluginGaveUntilItExpires) {
  const TemporaryDirectory directory;
  const Access good = counting(directory, "2100-01-01T00:00:00Z");
  Credentials credentials{executor, new_pool(), good};
  EXPECT_EQ(co_await header(&credentials), "Bearer run-1");
  EXPECT_EQ(co_await header(&credentials), "Bearer run-1");
  auto sent = co_await credentials.get();
  CO_ASSERT_TRUE(sent.has_value());
  credentials.refused(sent->edition);
  EXPECT_EQ(co_await header(&credentials), "Bearer run-2");

  const Access expired = counting(directory, "2001-01-01T00:00:00Z");
  Credentials stale{executor, new_pool(), expired};
  EXPECT_EQ(co_await header(&stale), "Bearer run-3");
  EXPECT_EQ(co_await header(&stale), "Bearer run-4");
}

CO_TEST(Credentials, KeepTheNewOnesWhenTheOldAreRefusedLate) {
  const TemporaryDirectory directory;
  const Access access = counting(directory, "2100-01-01T00:00:00Z");
  Credentials credentials{executor, new_pool(), access};
  auto sent = co_await credentials.get();
  CO_ASSERT_TRUE(sent.has_value());
  // Many requests used the old one; all are refused, one after the other.
  credentials.refused(sent->edition);
  EXPECT_EQ(co_await header(&credentials), "Bearer run-2");
  credentials.refused(sent->edition);
  EXPECT_EQ(co_await header(&credentials), "Bearer run-2");
}

Task<Credential> get_now(Credentials* credentials) {
  auto credential = co_await credentials->get();
  co_return credential ? std::move(*credential) : Credential{};
}

CO_TEST(Credentials, FollowFilesWithCertificates) {
  const TemporaryDirectory directory;
  const auto old = test::make_certificate();
  const auto renewed = test::make_certificate();
  Access access;
  access.ca_pem = old.certificate_pem;
  access.ca_file = directory.write("ca", old.certificate_pem);
  access.identity = {.certificate_pem = old.certificate_pem,
                     .key_pem = old.key_pem,
                     .certificate_file = directory.write("cert", old.certificate_pem),
                     .key_file = directory.write("key", old.key_pem)};
  Credentials credentials{executor, new_pool(), access};
  directory.write("ca", renewed.certificate_pem);
  directory.write("cert", renewed.certificate_pem);
  credentials.refused(0);
  EXPECT_TRUE((co_await get_now(&credentials)).certificate_pem == old.certificate_pem) << "its key has not come yet";
  directory.write("key", renewed.key_pem);
  EXPECT_TRUE((co_await get_now(&credentials)).key_pem == old.key_pem) << "they are not read for every request";
  credentials.refused(0);
  const Credential fresh = co_await get_now(&credentials);
  EXPECT_TRUE(fresh.ca_pem == renewed.certificate_pem);
  EXPECT_TRUE(fresh.certificate_pem == renewed.certificate_pem);
  EXPECT_TRUE(fresh.key_pem == renewed.key_pem);
}

CO_TEST(Credentials, SayAsWhomInAllItsParts) {
  Access access;
  access.identity = {.impersonate = "jane", .impersonate_extra = {{"acme.com/project", {"a", "b"}}, {"scopes", {"c"}}}};
  Credentials credentials{executor, new_pool(), access};
  auto credential = co_await credentials.get();
  CO_ASSERT_TRUE(credential.has_value());
  EXPECT_EQ(credential->headers.wire(),
            "Impersonate-User: jane\r\nImpersonate-Extra-acme.com%2Fproject: a\r\n"
            "Impersonate-Extra-acme.com%2Fproject: b\r\nImpersonate-Extra-scopes: c\r\n");
}

CO_TEST(Credentials, SendNothingInItsLastMoments) {
  const TemporaryDirectory directory;
  const auto soon = std::chrono::floor<std::chrono::seconds>(wall_now()) + std::chrono::seconds{4};
  const Access access = counting(directory, net::format_time(soon));
  Credentials credentials{executor, new_pool(), access};
  EXPECT_EQ(co_await header(&credentials), "Bearer run-1");
  EXPECT_EQ(co_await header(&credentials), "Bearer run-2");
}

Task<> expect_header(Credentials* credentials, std::string expected) {
  EXPECT_EQ(co_await header(credentials), expected);
}

CO_TEST(Credentials, RunAPluginOnceForAllWhoWait) {
  const TemporaryDirectory directory;
  const Access access = counting(directory, "2100-01-01T00:00:00Z");
  Credentials credentials{executor, new_pool(), access};
  TaskGroup group{executor};
  for (int i = 0; i < 5; ++i) group.spawn("get", expect_header(&credentials, "Bearer run-1"));
  co_await group.join();
}

CO_TEST(Credentials, ShareAPluginsFailure) {
  const TemporaryDirectory directory;
  Access access = counting(directory, "");
  access.identity.exec->arguments[1] = "echo x >>" + (directory / "runs") + "; exit 9";
  Credentials credentials{executor, new_pool(), access};
  TaskGroup group{executor};
  const std::string expected = "failed: the credential plugin \"sh\" failed with status 9";
  for (int i = 0; i < 5; ++i) group.spawn("get", expect_header(&credentials, expected));
  co_await group.join();
  std::ifstream runs{directory / "runs"};
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>{runs}, {}), "x\n");
}

}  // namespace
}  // namespace skiff::kube
