#include "container/kube/auth/access.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "tests/container/kube/variables.hpp"
#include "tests/protocol/net/test_certificate.hpp"

namespace skiff::kube {
namespace {

using namespace std::chrono_literals;
using test::TemporaryDirectory;
using test::variables;

constexpr const char* kConfig = R"(
current-context: dev
clusters:
- {name: c, cluster: {server: "https://c.example:6443", proxy-url: "http://proxy:1"}}
- {name: d, cluster: {server: "https://d.example"}}
users:
- {name: u, user: {token: of-u}}
- {name: v, user: {token: of-v, as: w}}
contexts:
- {name: dev, context: {cluster: c, user: u, namespace: work}}
- {name: other, context: {cluster: d, user: v}}
- {name: no-cluster, context: {cluster: gone, user: u}}
- {name: no-user, context: {cluster: c, user: gone}}
)";

std::string access_problem(const AccessOptions& options, std::map<std::string, std::string> values,
                           WallTime now = wall_now()) {
  const auto access = find_access(options, variables(std::move(values)), now);
  return access ? "no problem" : access.error().message;
}

TEST(Access, IsThatOfTheCurrentContext) {
  const Access access = find_access({}, variables({{"SKIFF_KUBECONFIG_DATA", kConfig}})).value();
  EXPECT_EQ(access.server.text(), "https://c.example:6443");
  EXPECT_EQ(access.proxy->authority(), "proxy:1");
  EXPECT_EQ(access.namespace_name, "work");
  EXPECT_EQ(access.identity.token, "of-u");
  EXPECT_EQ(access.origin, "context \"dev\" of SKIFF_KUBECONFIG_DATA");
}

TEST(Access, FollowsWhatTheUserAskedFor) {
  const net::Environment environment = variables({{"SKIFF_KUBECONFIG_DATA", kConfig}});
  const Access other = find_access({.context = "other"}, environment).value();
  EXPECT_EQ(other.server.host, "d.example");
  EXPECT_EQ(other.namespace_name, "default");
  EXPECT_EQ(other.identity.impersonate, "w");
  const Access mixed = find_access({.context = "other", .namespace_name = "mine"}, environment).value();
  EXPECT_EQ(mixed.server.host, "d.example");
  EXPECT_EQ(mixed.identity.token, "of-v");
  EXPECT_EQ(mixed.namespace_name, "mine");
  const Access token = find_access({.server = "https://e.example", .token = "given"}, environment).value();
  EXPECT_EQ(token.server.host, "e.example");
  EXPECT_EQ(token.identity.token, "given");
  EXPECT_TRUE(token.identity.impersonate.empty());
}

TEST(Access, LooksForAKubeconfigInTheOrderOfItsPlaces) {
  const TemporaryDirectory directory;
  std::filesystem::create_directory(directory / ".kube");
  const auto write = [&](const std::string& name, const std::string& host) {
    return directory.write(name, "current-context: x\nclusters: [{name: x, cluster: {server: 'https://" + host +
                                     "'}}]\ncontexts: [{name: x, context: {cluster: x}}]\n");
  };
  write(".kube/config", "home");
  const std::string listed = write("listed", "listed");
  const std::string named = write("named", "named");
  std::map<std::string, std::string> values{{"HOME", directory / ""}};
  const auto host = [&](const AccessOptions& options) {
    const auto access = find_access(options, variables(values));
    return access ? access->server.host : access.error().message;
  };
  EXPECT_EQ(host({}), "home");
  values["KUBECONFIG"] = (directory / "none") + "::" + listed;
  EXPECT_EQ(host({}), "listed");
  values["SKIFF_KUBECONFIG_DATA"] = kConfig;
  EXPECT_EQ(host({}), "c.example");
  EXPECT_EQ(host({.kubeconfig = named}), "named");
}

TEST(Access, IsThePodsOwnInsideACluster) {
  const TemporaryDirectory directory;
  directory.write("token", "abc\n");
  directory.write("ca.crt", "the CA");
  directory.write("namespace", "sandboxes");
  const AccessOptions options{.service_account_directory = directory / ""};
  const std::map<std::string, std::string> values{{"KUBERNETES_SERVICE_HOST", "fd00::1"},
                                                  {"KUBERNETES_SERVICE_PORT", "443"}};
  const Access access = find_access(options, variables(values)).value();
  EXPECT_EQ(access.server.text(), "https://[fd00::1]:443");
  EXPECT_EQ(access.ca_pem, "the CA");
  EXPECT_EQ(access.namespace_name, "sandboxes");
  EXPECT_EQ(access.identity.token_file, (directory / "") + "/token");
  EXPECT_TRUE(access.from_pod);
  // A kubeconfig wins, as in kubectl.
  std::map<std::string, std::string> both = values;
  both["SKIFF_KUBECONFIG_DATA"] = kConfig;
  EXPECT_EQ(find_access(options, variables(both))->server.host, "c.example");
  EXPECT_FALSE(find_access(options, variables(both))->from_pod) << "it may be any cluster";
}

TEST(Access, WithoutAnyClusterIsNotFound) {
  const auto access = find_access({}, variables({}));
  ASSERT_FALSE(access.has_value());
  EXPECT_EQ(access.error().code, Errc::not_found);
  EXPECT_NE(access.error().message.find("set KUBECONFIG"), std::string::npos);
  EXPECT_NE(access.error().message.find("SKIFF_KUBE_TOKEN"), std::string::npos) << "no flag takes a token";
  EXPECT_NE(access_problem({.context = "dev"}, {}).find("--context needs a kubeconfig"), std::string::npos);
}

TEST(Access, ByServerAndTokenNeedsNoKubeconfig) {
  const TemporaryDirectory directory;
  directory.write("ca.crt", "the CA");
  const AccessOptions options{.server = "https://a", .token = "t", .certificate_authority = directory / "ca.crt"};
  const Access access = find_access(options, variables({})).value();
  EXPECT_EQ(access.server.host, "a");
  EXPECT_EQ(access.identity.token, "t");
  EXPECT_EQ(access.ca_pem, "the CA");
  const Access beside = find_access(options, variables({{"KUBECONFIG", "/dev/null"}})).value();
  EXPECT_EQ(beside.server.host, "a") << "one that is empty is not missed";
  EXPECT_NE(access_problem({.server = "https://a", .certificate_authority = directory / "none"}, {})
                .find("--certificate-authority"),
            std::string::npos);
}

TEST(Access, IsOverriddenWhole) {
  const TemporaryDirectory directory;
  const std::string ca = directory.write("ca.crt", "given");
  const std::string config =
      "current-context: x\ncontexts: [{name: x, context: {cluster: x}}]\nclusters: [{name: x, cluster: "
      "{server: 'https://a', tls-server-name: of-a, insecure-skip-tls-verify: true}}]\n";
  const net::Environment environment = variables({{"SKIFF_KUBECONFIG_DATA", config}});
  const Access same = find_access({}, environment).value();
  EXPECT_TRUE(same.insecure_skip_tls_verify);
  EXPECT_EQ(same.tls_server_name, "of-a");
  const Access checked = find_access({.certificate_authority = ca}, environment).value();
  EXPECT_EQ(checked.ca_pem, "given");
  EXPECT_FALSE(checked.insecure_skip_tls_verify) << "a CA that nobody asks is none";
  EXPECT_EQ(checked.tls_server_name, "of-a");
  const Access moved = find_access({.server = "https://b"}, environment).value();
  EXPECT_EQ(moved.tls_server_name, "") << "that is the other server's name";
  EXPECT_TRUE(moved.insecure_skip_tls_verify);
}

TEST(Access, NamesWhatIsMissingAndWhatThereIs) {
  const std::map<std::string, std::string> values{{"SKIFF_KUBECONFIG_DATA", kConfig}};
  EXPECT_EQ(access_problem({.context = "typo"}, values),
            "the context \"typo\" is not in SKIFF_KUBECONFIG_DATA: there are: dev, no-cluster, no-user, other");
  EXPECT_NE(access_problem({.context = "no-cluster"}, values).find("wants the cluster \"gone\""), std::string::npos);
  EXPECT_NE(access_problem({.context = "no-user"}, values).find("wants the user \"gone\""), std::string::npos);
  EXPECT_NE(access_problem({}, {{"SKIFF_KUBECONFIG_DATA", "contexts: [{name: a}]"}})
                .find("choose one with --context; there are: a"),
            std::string::npos);
}

TEST(Access, ChecksTheClientCertificate) {
  const TemporaryDirectory directory;
  const auto made = test::make_certificate();
  directory.write("cert.pem", made.certificate_pem);
  directory.write("key.pem", made.key_pem);
  const auto config = [&](const std::string& user) {
    return directory.write("config",
                           "current-context: x\nclusters: [{name: x, cluster: {server: 'https://a'}}]\n"
                           "users: [{name: x, user: {" +
                               user +
                               "}}]\n"
                               "contexts: [{name: x, context: {cluster: x, user: x}}]\n");
  };
  const std::string both = config("client-certificate: cert.pem, client-key: key.pem");
  EXPECT_EQ(find_access({.kubeconfig = both}, variables({}))->identity.key_pem, made.key_pem);
  EXPECT_NE(
      access_problem({.kubeconfig = both}, {}, wall_now() + 48h).find("user \"x\": the client certificate expired at"),
      std::string::npos);
  EXPECT_NE(access_problem({.kubeconfig = config("client-certificate: cert.pem")}, {}).find("no client-key"),
            std::string::npos);
  EXPECT_NE(
      access_problem({.kubeconfig = config("client-certificate: none.pem, client-key: key.pem")}, {}).find("none.pem"),
      std::string::npos);
  EXPECT_NE(access_problem({.kubeconfig = config("auth-provider: {name: gcp}")}, {}).find("use an exec plugin"),
            std::string::npos);
  EXPECT_NE(access_problem({.kubeconfig = config("as-uid: '5'")}, {}).find("without as"), std::string::npos);
  EXPECT_NE(access_problem({.kubeconfig = config("as-user-extra: {a: [b]}")}, {}).find("without as"),
            std::string::npos);
}

TEST(Access, GoesThroughTheProxyOfTheEnvironment) {
  const std::string config =
      "current-context: x\nclusters: [{name: x, cluster: {server: 'https://a.example'}}]\n"
      "contexts: [{name: x, context: {cluster: x}}]\n";
  EXPECT_EQ(find_access({}, variables({{"SKIFF_KUBECONFIG_DATA", config}, {"HTTPS_PROXY", "p:8"}}))->proxy->authority(),
            "p:8");
  EXPECT_FALSE(
      find_access({}, variables({{"SKIFF_KUBECONFIG_DATA", config}, {"HTTPS_PROXY", "p:8"}, {"NO_PROXY", ".example"}}))
          ->proxy);
}

}  // namespace
}  // namespace skiff::kube
