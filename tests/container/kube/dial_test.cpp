#include "container/kube/dial.hpp"

#include <gtest/gtest.h>

#include "container/kube/resolver.hpp"
#include "tests/container/kube/canned_server.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::kube {
namespace {

using namespace std::chrono_literals;
using test::CannedServer;
using test::RawClient;

Url url_of(const CannedServer& server) {
  return server.access().server;
}

protocol::Resolver resolver() {
  return system_resolver(std::make_shared<BlockingPool>("test", 1));
}

CO_TEST(Dial, GoesThroughAProxyByConnect) {
  // What follows the proxy's answer comes from the server behind it.
  CannedServer proxy{executor,
                     {{"HTTP/1.0 200 Connection established\r\nContent-Length: 0\r\n\r\n"}, {"the server", true}}};
  Url way = url_of(proxy);
  way.user = "me";
  way.password = "secret";
  const Url server{.host = "api.example", .port = 6443};
  protocol::Dialer dial = make_dialer(executor, resolver(), server, way);
  auto stream = co_await dial(5s);
  CO_ASSERT_TRUE(stream.has_value()) << stream.error().message;
  EXPECT_EQ(
      proxy.requests().at(0),
      "CONNECT api.example:6443 HTTP/1.1\r\nHost: api.example:6443\r\nProxy-Authorization: Basic bWU6c2VjcmV0\r\n\r\n");
  RawClient client{std::move(*stream)};
  EXPECT_TRUE(co_await client.send("hello\r\n\r\n"));
  EXPECT_EQ(co_await client.read_all(), "the server");
  co_await proxy.stop();
}

CO_TEST(Dial, SaysThatAProxyRefuses) {
  CannedServer proxy{executor,
                     {{"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n"},
                      {"HTTP/1.1 200 OK\r\n\r\nbytes of its own"}}};
  const Url way = url_of(proxy);
  protocol::Dialer dial = make_dialer(executor, resolver(), {.host = "api.example", .port = 6443}, way);
  auto refused = co_await dial(5s);
  CO_ASSERT_TRUE(!refused.has_value());
  EXPECT_EQ(refused.error().code, Errc::unauthenticated);
  EXPECT_EQ(refused.error().message, "the proxy " + way.authority() +
                                         " refuses to connect to api.example:6443: 407 Proxy Authentication Required");
  auto talkative = co_await dial(5s);
  CO_ASSERT_TRUE(!talkative.has_value());
  EXPECT_EQ(talkative.error().code, Errc::invalid_request);
  co_await proxy.stop();
}

CO_TEST(Dial, SaysThatAProxyIsAway) {
  Url away;
  {
    CannedServer proxy{executor, {}};
    away = url_of(proxy);
    co_await proxy.stop();
  }
  protocol::Dialer dial = make_dialer(executor, resolver(), {.host = "api.example", .port = 6443}, away);
  auto stream = co_await dial(5s);
  CO_ASSERT_TRUE(!stream.has_value());
  EXPECT_EQ(stream.error().message.find("the proxy " + away.authority() + " does not answer: connect to "), 0u)
      << stream.error().message;
}

CO_TEST(Dial, ResolvesTheServersName) {
  CannedServer server{executor, {{"hello", true}}};
  Url url = url_of(server);
  url.host = "localhost";
  protocol::Dialer dial = make_dialer(executor, resolver(), url, std::nullopt);
  auto stream = co_await dial(5s);
  CO_ASSERT_TRUE(stream.has_value()) << stream.error().message;
  RawClient client{std::move(*stream)};
  EXPECT_TRUE(co_await client.send("\r\n\r\n"));
  EXPECT_EQ(co_await client.read_all(), "hello");
  co_await server.stop();
}

}  // namespace
}  // namespace skiff::kube
