// Requests that go through the real API server to a node. The node is a canned one: see
// tests/container/kube/canned_node.hpp.
#include <gtest/gtest.h>

#include <array>

#include "container/kube/pod_log.hpp"
#include "container/kube/port_forward.hpp"
#include "tests/container/kube/canned_node.hpp"
#include "tests/kubernetes/cluster.hpp"
#include "tests/protocol/net/test_certificate.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::kube {
namespace {

using Json = nlohmann::json;
using test::TestServer;

/// A node that the API server knows, and a pod that is bound to it.
struct Node {
  explicit Node(Executor executor)
      : node{executor,
             protocol::TlsContext::server({.certificate_file = directory.write("cert", certificate.certificate_pem),
                                           .key_file = directory.write("key", certificate.key_pem)})
                 .value()} {}

  Task<> announce(Client* client) {
    Object object = Object::make(kNodes, {}, name);
    object.json["status"] = {{"addresses", {{{"type", "InternalIP"}, {"address", "127.0.0.1"}}}},
                             {"daemonEndpoints", {{"kubeletEndpoint", {{"Port", node.port()}}}}}};
    auto made = co_await client->create(kNodes, std::move(object));
    EXPECT_TRUE(made.has_value()) << made.error().error.message;
    Object pod = Object::make(kPods, "default", name);
    pod.json["spec"] = {{"nodeName", name}, {"containers", {{{"name", "c"}, {"image", "none"}}}}};
    made = co_await client->create(kPods, std::move(pod));
    EXPECT_TRUE(made.has_value()) << made.error().error.message;
  }

  test::TemporaryDirectory directory;
  test::Certificate certificate = test::make_certificate();
  test::CannedNode node;
  std::string name = test::fresh_name("node");
};

Task<> echo(protocol::HttpExchange& exchange) {
  auto body = co_await exchange.read_body(16 * 1024 * 1024);
  protocol::HttpResponse response;
  if (body) response.body = std::move(*body);
  auto sent = co_await exchange.respond(std::move(response));
  static_cast<void>(sent);
}

CO_TEST(KubeNode, ForwardsHttpThroughTheApiServer) {
  Client client = test::connect_as(executor, "admin");
  Node node{executor};
  co_await node.announce(&client);
  TestServer pod{executor, echo};
  PortForward forward{executor, &client.transport(), "default", node.name, pod.address.port()};
  {
    protocol::HttpClient agent{executor, {.host = "agent", .port = 1, .dial = forward.dialer()}};
    for (const std::size_t size : {std::size_t{5}, std::size_t{3'000'000}}) {
      protocol::HttpClient::Request request{
          .method = "POST", .target = "/", .headers = {}, .body = std::string(size, 'x')};
      auto reply = co_await agent.request(std::move(request));
      CO_ASSERT_TRUE(reply.has_value()) << reply.error().message << " " << forward.trouble();
      EXPECT_EQ(reply->body.size(), size);
    }
  }
  co_await forward.stop();
  co_await pod.server.stop();
  co_await node.node.stop();
}

CO_TEST(KubeNode, ForwardsOnlyForThoseWhoMay) {
  Client admin = test::connect_as(executor, "admin");
  Node node{executor};
  co_await node.announce(&admin);
  Client outsider = test::connect_as(executor, "outsider");
  PortForward forward{executor, &outsider.transport(), "default", node.name, 80};
  auto stream = co_await forward.open();
  CO_ASSERT_TRUE(!stream.has_value());
  EXPECT_TRUE(stream.error().forbidden()) << stream.error().error.message;
  EXPECT_TRUE(node.node.targets().empty());
  co_await node.node.stop();
}

CO_TEST(KubeNode, ReadsALog) {
  Client client = test::connect_as(executor, "admin");
  Node node{executor};
  co_await node.announce(&client);
  auto text = co_await read_log(&client, "default", node.name, {.container = "c", .tail_lines = 2});
  CO_ASSERT_TRUE(text.has_value()) << text.error().error.message;
  EXPECT_EQ(*text, "one\ntwo\n");
  co_await node.node.stop();
}

CO_TEST(KubeNode, SaysThatAPodIsNotScheduled) {
  Client client = test::connect_as(executor, "admin");
  Object pod = Object::make(kPods, "default", test::fresh_name("unscheduled"));
  pod.json["spec"] = {{"containers", {{{"name", "c"}, {"image", "none"}}}}};
  auto made = co_await client.create(kPods, pod);
  CO_ASSERT_TRUE(made.has_value()) << made.error().error.message;
  PortForward forward{executor, &client.transport(), "default", made->name(), 80};
  auto stream = co_await forward.open();
  CO_ASSERT_TRUE(!stream.has_value());
  EXPECT_EQ(stream.error().status.code, 400u) << stream.error().error.message;
}

}  // namespace
}  // namespace skiff::kube
