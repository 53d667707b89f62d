#include "container/agent/stream/port_connections.hpp"

#include <string>

#include <gtest/gtest.h>

#include "tests/container/kube/canned_server.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container {
namespace {

using test::answer;
using test::CannedServer;

Endpoint port_endpoint(const CannedServer& server) {
  Endpoint endpoint;
  endpoint.client.host = "127.0.0.1";
  endpoint.client.port = server.access().server.port;
  endpoint.path_prefix = "/s/demo/7070";
  endpoint.headers = {{"X-API-Key", "key"}};
  endpoint.token = []() -> Result<std::string> { return std::string{}; };
  return endpoint;
}

std::string port_problem(const char* status, const std::string& code, const std::string& detail) {
  return answer(status,
                R"({"status":)" + std::string{status, 3} + R"(,"code":")" + code + R"(","detail":")" + detail + "\"}",
                "Content-Type: application/problem+json\r\n");
}

CO_TEST(PortConnections, AreWebSocketsOfTheAgent) {
  CannedServer server{executor,
                      {{port_problem("502 Bad Gateway", "port_not_listening", "nothing listens on port 5432")},
                       {port_problem("403 Forbidden", "insufficient_scope", "the scope ports is needed")}}};
  PortConnections connections{executor};
  const auto refused = co_await connections.connect(port_endpoint(server), 5432);
  CO_ASSERT_TRUE(!refused.has_value());
  EXPECT_EQ(refused.error().code, Errc::port_not_listening);
  EXPECT_TRUE(refused.error().message.contains("nothing listens on port 5432")) << refused.error().message;
  const std::string& asked = server.requests().front();
  EXPECT_TRUE(asked.starts_with("GET /s/demo/7070/v1/ports/5432:tcp HTTP/1.1\r\n")) << asked;
  EXPECT_TRUE(asked.contains("X-API-Key: key\r\n"));
  EXPECT_TRUE(asked.contains("Sec-WebSocket-Protocol: skiff.v1.tcp\r\n")) << asked;
  EXPECT_FALSE(asked.contains("X-Skiff-Token"));
  const auto forbidden = co_await connections.connect(port_endpoint(server), 5432);
  EXPECT_EQ(forbidden.error().code, Errc::insufficient_scope);
  EXPECT_EQ(connections.size(), 0U);
  co_await connections.close();
  co_await server.stop();
}

CO_TEST(PortConnections, TellThatAnAgentIsOlder) {
  CannedServer server{executor, {{port_problem("404 Not Found", "not_found", "there is no such path")}}};
  PortConnections connections{executor};
  const auto refused = co_await connections.connect(port_endpoint(server), 22);
  CO_ASSERT_TRUE(!refused.has_value());
  EXPECT_EQ(refused.error().code, Errc::not_supported);
  EXPECT_TRUE(refused.error().message.contains("older than this skiff")) << refused.error().message;
  co_await connections.close();
  co_await server.stop();
}

}  // namespace
}  // namespace skiff::container
