#include "container/served/port_relay.hpp"

#include <string>

#include <gtest/gtest.h>

#include "tests/container/kube/canned_server.hpp"
#include "tests/protocol/http/raw_client.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container {
namespace {

using test::answer;
using test::CannedServer;
using test::RawClient;

std::unique_ptr<ServerClient> relay_client(Executor executor, const CannedServer& server) {
  const std::string url = "http://127.0.0.1:" + std::to_string(server.access().server.port) + "/below";
  return ServerClient::open(executor, {.url = url, .api_key = "key"}).value();
}

std::size_t times_in(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++found;
  return found;
}

CO_TEST(PortRelay, PassesRequestsOnWithTheKeyAndTheApplicationsOwnFields) {
  CannedServer server{executor, {{answer("200 OK", "there")}, {answer("404 Not Found", "not there")}}};
  const auto client = relay_client(executor, server);
  PortRelay relay{executor, client.get()};
  auto connected = relay.connect("/s/demo/8000");
  CO_ASSERT_TRUE(connected.has_value());
  RawClient application{std::move(*connected)};
  co_await application.send(
      "GET /a%2Fb?c=d HTTP/1.1\r\nHost: localhost:8000\r\nAuthorization: Bearer its-own\r\nX-API-Key: another\r\n\r\n");
  const std::string first = co_await application.read_until("there");
  EXPECT_TRUE(first.starts_with("HTTP/1.1 200 OK\r\n")) << first;
  const std::string& passed = server.requests().front();
  EXPECT_TRUE(passed.starts_with("GET /below/s/demo/8000/a%2Fb?c=d HTTP/1.1\r\n")) << passed;
  EXPECT_EQ(times_in(passed, "X-API-Key: "), 1U);
  EXPECT_TRUE(passed.contains("X-API-Key: key\r\n"));
  EXPECT_TRUE(passed.contains("Authorization: Bearer its-own\r\n"));
  // The connection goes on.
  co_await application.send("GET /other HTTP/1.1\r\nHost: localhost:8000\r\n\r\n");
  EXPECT_TRUE((co_await application.read_until("not there")).starts_with("HTTP/1.1 404 Not Found\r\n"));
  co_await relay.close();
  co_await server.stop();
}

CO_TEST(PortRelay, TellsOtherProtocolsThatItCarriesNone) {
  CannedServer server{executor, {}};
  const auto client = relay_client(executor, server);
  PortRelay relay{executor, client.get()};
  RawClient database{relay.connect("/s/demo/5432").value()};
  co_await database.send(std::string{"\x16\x03\x01\x02 hello\r\n\r\n"});
  const std::string told = co_await database.read_until("neither");
  EXPECT_TRUE(told.starts_with("HTTP/1.1 400 ")) << told;
  EXPECT_TRUE(told.contains("as HTTP/1.1"));
  EXPECT_EQ(server.connections(), 0);
  co_await relay.close();
  co_await server.stop();
}

CO_TEST(PortRelay, TellsThatTheServerIsAway) {
  std::unique_ptr<ServerClient> client;
  {
    CannedServer server{executor, {}};
    client = relay_client(executor, server);
    co_await server.stop();
  }
  PortRelay relay{executor, client.get()};
  RawClient application{relay.connect("/s/demo/8000").value()};
  co_await application.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_TRUE((co_await application.read_until("can't be asked")).starts_with("HTTP/1.1 502 Bad Gateway\r\n"));
  co_await relay.close();
}

}  // namespace
}  // namespace skiff::container
