#include "container/kube/auth/kubeconfig.hpp"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "tests/support/temporary_directory.hpp"

namespace skiff::kube {
namespace {

std::string kubeconfig_problem(std::string_view yaml) {
  const auto config = parse_kubeconfig(yaml, "file", "/base");
  return config ? "no problem" : config.error().message;
}

constexpr std::string_view kWhole = R"(apiVersion: v1
kind: Config
current-context: dev
preferences: {}
clusters:
- name: c
  cluster:
    server: https://10.0.0.1:6443
    certificate-authority: pki/ca.crt
    tls-server-name: kubernetes.default
    proxy-url: http://proxy:3128
    insecure-skip-tls-verify: false
    extensions: [{name: unknown, extension: {}}, {name: client.authentication.k8s.io/exec, extension: {audience: c}}]
users:
- name: u
  user:
    client-certificate-data: "Y2Vy
      dA=="
    client-key: /abs/key.pem
    tokenFile: token
    as: somebody
    as-groups: [g1, g2]
    as-user-extra: {scopes: [view, edit], acme.com/team: [blue]}
- name: plugin
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1
      command: ./bin/login
      args: [--cluster, c]
      env: [{name: REGION, value: eu}]
      installHint: install it
      provideClusterInfo: true
      interactiveMode: Never
contexts:
- name: dev
  context: {cluster: c, user: u, namespace: work}
)";

TEST(Kubeconfig, IsReadWhole) {
  const Kubeconfig config = parse_kubeconfig(kWhole, "file", "/base").value();
  EXPECT_EQ(config.current_context, "dev");
  const ClusterEntry& cluster = config.clusters.at("c");
  EXPECT_EQ(cluster.server, "https://10.0.0.1:6443");
  EXPECT_EQ(cluster.certificate_authority.file, "/base/pki/ca.crt");
  EXPECT_EQ(cluster.tls_server_name, "kubernetes.default");
  EXPECT_EQ(cluster.proxy_url, "http://proxy:3128");
  EXPECT_EQ(cluster.exec_config, R"({"audience":"c"})");
  const UserEntry& user = config.users.at("u");
  EXPECT_EQ(user.client_certificate.text, "cert");
  EXPECT_EQ(user.client_key.file, "/abs/key.pem");
  EXPECT_EQ(user.token_file, "/base/token");
  EXPECT_EQ(user.impersonate, "somebody");
  EXPECT_EQ(user.impersonate_groups.size(), 2u);
  EXPECT_EQ(user.impersonate_extra, (std::map<std::string, std::vector<std::string>>{{"acme.com/team", {"blue"}},
                                                                                     {"scopes", {"view", "edit"}}}));
  const ExecPlugin& plugin = config.users.at("plugin").exec.value();
  EXPECT_EQ(plugin.command, "/base/./bin/login");
  EXPECT_EQ(plugin.arguments, (std::vector<std::string>{"--cluster", "c"}));
  EXPECT_EQ(plugin.environment.at(0).value, "eu");
  EXPECT_TRUE(plugin.provide_cluster_info);
  EXPECT_EQ(config.contexts.at("dev").namespace_name, "work");
}

TEST(Kubeconfig, MayBeEmptyOrHaveEmptyLists) {
  EXPECT_TRUE(parse_kubeconfig("", "file", {}).value().empty());
  EXPECT_TRUE(
      parse_kubeconfig("clusters: null\nusers: []\ncontexts:\ncurrent-context: \"\"\n", "f", {}).value().empty());
}

TEST(Kubeconfig, SaysInOneLineWhatIsWrong) {
  EXPECT_EQ(kubeconfig_problem("clusters: [\n").find("file is not a kubeconfig: line "), 0u)
      << kubeconfig_problem("clusters: [\n");
  EXPECT_EQ(kubeconfig_problem("just words"), "file is not a kubeconfig: it has no fields");
  EXPECT_EQ(kubeconfig_problem("clusters: {c: {}}"), "file is not a kubeconfig: /clusters: expected an array");
  EXPECT_EQ(kubeconfig_problem("users: [{name: a, user: {token: 12345}}]"),
            "file is not a kubeconfig: /users/0/user/token: expected a string");
  for (const std::string_view extra : {"[a]", "a", "{a: b}", "{a: [1]}"}) {
    EXPECT_EQ(kubeconfig_problem("users: [{name: a, user: {as: b, as-user-extra: " + std::string{extra} + "}}]"),
              "file: user \"a\", as-user-extra: expected lists of texts by name");
  }
  EXPECT_EQ(kubeconfig_problem("kind: Pod\napiVersion: v1"), "file is not a kubeconfig: its kind is \"Pod\"");
  EXPECT_EQ(kubeconfig_problem("users: [{name: a}, {name: a}]"), "file: user \"a\" is there twice");
  EXPECT_EQ(kubeconfig_problem("users: [{name: a, user: {client-key-data: '?'}}]"),
            "file: user \"a\", client-key-data: the data is not base64");
  for (const std::string_view yaml : {"a: [", "clusters: 1", "users: [{name: a, user: {exec: {command: x}}}]"}) {
    EXPECT_EQ(kubeconfig_problem(yaml).find('\n'), std::string::npos) << kubeconfig_problem(yaml);
  }
}

TEST(Kubeconfig, ChecksPlugins) {
  const auto exec = [](const std::string& rest) {
    return kubeconfig_problem("users: [{name: a, user: {exec: {command: x, apiVersion: client.authentication.k8s.io/" +
                              rest + "}}}]");
  };
  EXPECT_EQ(exec("v1, interactiveMode: Never"), "no problem");
  EXPECT_EQ(exec("v1beta1"), "no problem");
  EXPECT_NE(exec("v1").find("interactiveMode"), std::string::npos);
  EXPECT_NE(exec("v1alpha1").find("update the plugin"), std::string::npos);
}

TEST(Kubeconfig, LeavesAPluginWithoutASlashToThePath) {
  const auto command = [](const std::string& written) {
    const auto config = parse_kubeconfig("users: [{name: a, user: {exec: {command: " + written +
                                             ", apiVersion: client.authentication.k8s.io/v1beta1}}}]",
                                         "file", "/base");
    return config ? config->users.at("a").exec.value().command : config.error().message;
  };
  EXPECT_EQ(command("aws"), "aws");
  EXPECT_EQ(command("bin/aws"), "/base/bin/aws");
  EXPECT_EQ(command("/usr/bin/aws"), "/usr/bin/aws");
}

TEST(Kubeconfig, TakesEachEntryFromTheFirstFileThatHasIt) {
  const test::TemporaryDirectory directory;
  const std::array<std::string, 3> paths{directory.path() / "one", directory.path() / "none", directory.path() / "two"};
  std::ofstream{paths[0]} << "clusters: [{name: a, cluster: {server: 'https://one'}}]\n"
                             "users: [{name: u, user: {token: first}}]\n";
  std::ofstream{paths[2]} << "current-context: two\n"
                             "clusters: [{name: a, cluster: {server: 'https://two', tls-server-name: x}},\n"
                             "           {name: b, cluster: {server: 'https://b', certificate-authority: ca}}]\n"
                             "users: [{name: u, user: {token: second, username: left}}]\n";
  const Kubeconfig config = load_kubeconfig(paths, true).value();
  EXPECT_EQ(config.clusters.at("a").server, "https://one");
  EXPECT_EQ(config.clusters.at("a").tls_server_name, "") << "an entry is taken whole";
  EXPECT_EQ(config.clusters.at("b").certificate_authority.file, directory.path() / "ca");
  EXPECT_EQ(config.users.at("u").token, "first");
  EXPECT_EQ(config.users.at("u").username, "");
  EXPECT_EQ(config.current_context, "two");
  EXPECT_EQ(config.origin, paths[0] + ":" + paths[2]);
}

TEST(Kubeconfig, SaysWhichFileCanNotBeRead) {
  const test::TemporaryDirectory directory;
  const std::string missing = directory.path() / "none";
  const auto config = load_kubeconfig({&missing, 1}, false);
  ASSERT_FALSE(config.has_value());
  EXPECT_EQ(config.error().message, "kubeconfig: open \"" + missing + "\": No such file or directory");
  const std::string a_directory = directory.path();
  EXPECT_FALSE(load_kubeconfig({&a_directory, 1}, true).has_value()) << "only one that doesn't exist is passed over";
}

}  // namespace
}  // namespace skiff::kube
