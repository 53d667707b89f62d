// The ways to say who one is, and the way through a proxy, against a real API server.
#include "container/kube/auth/access.hpp"

#include <gtest/gtest.h>

#include <map>

#include "base/async/beside.hpp"
#include "base/async/task_group.hpp"
#include "protocol/net/listener.hpp"
#include "tests/kubernetes/cluster.hpp"
#include "tests/protocol/http/raw_client.hpp"
#include "tests/protocol/net/test_certificate.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::kube {
namespace {

using Json = nlohmann::json;
using test::access_as;
using test::connect_as;
using test::RawClient;
using test::TemporaryDirectory;

/// A token of the default service account, as the kubelet asks for one.
Task<std::string> service_account_token(Client* admin) {
  Call call{
      .method = "POST",
      .target = "/api/v1/namespaces/default/serviceaccounts/default/token",
      .what = "ask for a token",
      .content_type = "application/json",
      .body = R"({"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{"expirationSeconds":600}})"};
  auto reply = co_await admin->transport().send(std::move(call));
  if (!reply) {
    ADD_FAILURE() << reply.error().error.message;
    co_return std::string{};
  }
  co_return Json::parse(reply->body)["status"]["token"].get<std::string>();
}

CO_TEST(KubeAccess, IsThatOfAServiceAccountWhoseTokenChanges) {
  Client admin = connect_as(executor, "admin");
  const Access known = access_as("admin");
  const TemporaryDirectory directory;
  directory.write("ca.crt", known.ca_pem);
  directory.write("namespace", "default");
  directory.write("token", "one-that-has-expired");
  const std::map<std::string, std::string> variables{{"KUBERNETES_SERVICE_HOST", known.server.host},
                                                     {"KUBERNETES_SERVICE_PORT", std::to_string(known.server.port)}};
  AccessOptions options;
  options.service_account_directory = directory / "";
  auto access = find_access(options, [&](const char* name) {
    const auto at = variables.find(name);
    return at == variables.end() ? std::string{} : at->second;
  });
  CO_ASSERT_TRUE(access.has_value()) << access.error().message;
  Client client = test::connect(executor, std::move(*access));
  auto pods = co_await client.list(kPods, "default");
  CO_ASSERT_TRUE(!pods.has_value());
  EXPECT_EQ(pods.error().status.code, 401u);
  directory.write("token", co_await service_account_token(&admin));
  pods = co_await client.list(kPods, "default");
  CO_ASSERT_TRUE(!pods.has_value());
  EXPECT_NE(pods.error().error.message.find("User \"system:serviceaccount:default:default\" cannot list"),
            std::string::npos)
      << pods.error().error.message;
}

CO_TEST(KubeAccess, IsWhatAPluginGives) {
  const Access known = access_as("admin");
  const TemporaryDirectory directory;
  const auto credential = [&](Json status) {
    return directory.write("credential", Json{{"apiVersion", "client.authentication.k8s.io/v1"},
                                              {"kind", "ExecCredential"},
                                              {"status", std::move(status)}}
                                             .dump());
  };
  const std::string path = credential({{"token", "nobody-knows-this"}});
  Access access = known;
  access.identity = {};
  access.identity.exec = ExecPlugin{.api_version = "client.authentication.k8s.io/v1",
                                    .command = "cat",
                                    .arguments = {path},
                                    .environment = {},
                                    .install_hint = {},
                                    .provide_cluster_info = true,
                                    .interactive_mode = "Never"};
  Client client = test::connect(executor, std::move(access));
  auto version = co_await client.list(kPods, "default");
  CO_ASSERT_TRUE(!version.has_value());
  EXPECT_EQ(version.error().status.code, 401u);
  // The next run gives a certificate: it goes into new connections, and works at once.
  credential({{"clientCertificateData", known.identity.certificate_pem}, {"clientKeyData", known.identity.key_pem}});
  version = co_await client.list(kPods, "default");
  EXPECT_TRUE(version.has_value()) << version.error().error.message;
}

Task<> pump(protocol::Stream* from, protocol::Stream* to) {
  std::vector<char> piece(16 * 1024);
  for (;;) {
    auto got = co_await from->read_some(piece);
    if (!got || *got == 0) co_return;
    const std::array<std::string_view, 1> parts{std::string_view{piece.data(), *got}};
    auto sent = co_await to->write(parts);
    if (!sent) co_return;
  }
}

/// An HTTP proxy that knows only CONNECT.
class Proxy {
 public:
  explicit Proxy(Executor executor) : executor_{executor}, tasks_{executor} {
    listener_ = protocol::Listener::open(executor, protocol::Address::ip("127.0.0.1", 0).value()).value();
    tasks_.spawn("accept", listener_->accept_all([this](UniqueFd socket, const protocol::Address&) {
      tasks_.spawn("tunnel", tunnel(protocol::Stream{executor_, std::move(socket), "client"}));
    }));
  }
  [[nodiscard]] std::string url() const { return "http://me:secret@" + listener_->address().text(); }
  [[nodiscard]] const std::vector<std::string>& heads() const { return heads_; }
  Task<> stop() {
    tasks_.cancel();
    co_await tasks_.join();
  }

 private:
  Task<> tunnel(protocol::Stream stream) {
    RawClient client{std::move(stream)};
    heads_.push_back(co_await client.read_until("\r\n\r\n"));
    const std::string target = heads_.back().substr(8, heads_.back().find(' ', 8) - 8);
    auto server =
        co_await protocol::connect(protocol::Address::parse(target).value(), std::chrono::seconds{5}, executor_);
    if (!server) co_return;
    if (!co_await client.send("HTTP/1.1 200 Connection established\r\n\r\n")) co_return;
    auto up = pump(&client.stream(), &*server);
    auto down = pump(&*server, &client.stream());
    co_await run_beside(std::move(up), std::move(down));
  }

  Executor executor_;
  TaskGroup tasks_;
  std::unique_ptr<protocol::Listener> listener_;
  std::vector<std::string> heads_;
};

CO_TEST(KubeAccess, LeadsThroughAProxy) {
  Proxy proxy{executor};
  Access access = access_as("admin");
  access.proxy = net::parse_proxy(proxy.url(), "proxy-url").value();
  const std::string server = access.server.authority();
  {
    Client client = test::connect(executor, std::move(access));
    for (int i = 0; i < 3; ++i) {
      auto version = co_await client.version();
      CO_ASSERT_TRUE(version.has_value()) << version.error().error.message;
    }
  }
  CO_ASSERT_TRUE(proxy.heads().size() == 1) << "the connection is kept";
  EXPECT_EQ(proxy.heads()[0], "CONNECT " + server + " HTTP/1.1\r\nHost: " + server +
                                  "\r\nProxy-Authorization: Basic bWU6c2VjcmV0\r\n\r\n");
  co_await proxy.stop();
}

}  // namespace
}  // namespace skiff::kube
