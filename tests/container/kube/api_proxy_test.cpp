#include "container/kube/api_proxy.hpp"

#include <gtest/gtest.h>

#include "tests/container/kube/canned_server.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::kube {
namespace {

using Kind = ApiProxy::Destination::Kind;

TEST(ApiProxy, HasAPathForEachDestination) {
  EXPECT_EQ(proxy_path({.kind = Kind::pod, .namespace_name = "n", .name = "p", .port = 8888}),
            "/api/v1/namespaces/n/pods/p:8888/proxy");
  EXPECT_EQ(proxy_path({.kind = Kind::service, .namespace_name = "n", .name = "s", .port = 80, .tls = true}),
            "/api/v1/namespaces/n/services/https:s:80/proxy");
}

CO_TEST(ApiProxy, SendsBothCredentials) {
  test::CannedServer server{executor, {{test::answer("200 OK", "agent")}}};
  Access access = server.access();
  access.server.path = "/prefix";
  access.identity.token = "cluster";
  const test::OpenTransport open{executor, std::move(access)};
  ApiProxy proxy{open.transport.get(), {.namespace_name = "n", .name = "p", .port = 8888}, "agent-token"};
  auto request = co_await proxy.wrap(
      {.method = "POST", .target = "/v1/run?a=b", .headers = {{"Authorization", "Bearer wrong"}}, .body = "{}"});
  CO_ASSERT_TRUE(request.has_value());
  protocol::HttpClient client{executor, proxy.client_options()};
  auto reply = co_await client.request(std::move(*request));
  CO_ASSERT_TRUE(reply.has_value()) << reply.error().message;
  EXPECT_EQ(reply->body, "agent");
  const std::string& sent = server.requests().at(0);
  EXPECT_EQ(sent.find("POST /prefix/api/v1/namespaces/n/pods/p:8888/proxy/v1/run?a=b HTTP/1.1\r\n"), 0u) << sent;
  EXPECT_NE(sent.find("Authorization: Bearer cluster\r\n"), std::string::npos);
  EXPECT_EQ(sent.find("wrong"), std::string::npos);
  EXPECT_NE(sent.find("X-Skiff-Token: agent-token\r\n"), std::string::npos);
  client.close();
  co_await server.stop();
}

}  // namespace
}  // namespace skiff::kube
