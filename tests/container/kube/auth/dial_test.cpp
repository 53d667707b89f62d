#include "container/kube/auth/dial.hpp"

#include <gtest/gtest.h>

#include "base/async/task_group.hpp"
#include "container/net/resolver.hpp"
#include "tests/container/kube/canned_server.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::kube {
namespace {

using namespace std::chrono_literals;
using test::CannedServer;
using test::RawClient;

net::Url url_of(const CannedServer& server) {
  return server.access().server;
}

protocol::Resolver resolver() {
  return net::system_resolver();
}

CO_TEST(Dial, GoesThroughAProxyByConnect) {
  // The bytes behind the proxy's answer come from the server behind it.
  CannedServer proxy{executor,
                     {{"HTTP/1.0 200 Connection established\r\nContent-Length: 0\r\n\r\n"}, {"the server", true}}};
  net::Url way = url_of(proxy);
  way.user = "me";
  way.password = "secret";
  const net::Url server{.host = "api.example", .port = 6443};
  protocol::Dialer dial = create_dialer(executor, resolver(), server, way);
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
  const net::Url way = url_of(proxy);
  protocol::Dialer dial = create_dialer(executor, resolver(), {.host = "api.example", .port = 6443}, way);
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

using namespace std::string_literals;

/// A SOCKS 5 proxy that answers what a test wrote down, each after as many bytes as are expected.
struct CannedSocks {
  struct Step {
    std::string expected;
    std::string answer;
  };
  CannedSocks(Executor executor, std::vector<Step> steps) : steps{std::move(steps)}, tasks{executor} {
    listener = protocol::Listener::open(executor, protocol::Address::ip("127.0.0.1", 0).value()).value();
    tasks.spawn("accept", listener->accept_all([this, executor](UniqueFd socket, const protocol::Address& peer) {
      tasks.spawn("serve", serve(protocol::Stream{executor, std::move(socket), peer.text()}));
    }));
  }
  [[nodiscard]] net::Url url() const {
    return {.tls = false, .socks = true, .host = "127.0.0.1", .port = listener->address().port()};
  }
  Task<> serve(protocol::Stream stream) {
    RawClient client{std::move(stream)};
    for (const Step& step : steps) {
      const std::string got = co_await client.read_bytes(step.expected.size());
      EXPECT_EQ(got, step.expected);
      const bool sent = co_await client.send(step.answer);
      EXPECT_TRUE(sent);
    }
  }
  Task<> stop() {
    tasks.cancel();
    co_await tasks.join();
  }
  std::vector<Step> steps;
  TaskGroup tasks;
  std::unique_ptr<protocol::Listener> listener;
};

CO_TEST(Dial, GoesThroughASocksProxyThatResolvesTheName) {
  CannedSocks proxy{
      executor,
      {{"\x05\x01\x00"s, "\x05\x00"s},
       {"\x05\x01\x00\x03\x0b"s + "api.example" + "\x19\x2b"s, "\x05\x00\x00\x01\x7f\x00\x00\x01\x10\x20"s},
       {"hello", "the server"}}};
  protocol::Dialer dial = create_dialer(executor, resolver(), {.host = "api.example", .port = 6443}, proxy.url());
  auto stream = co_await dial(5s);
  CO_ASSERT_TRUE(stream.has_value()) << stream.error().message;
  RawClient client{std::move(*stream)};
  EXPECT_TRUE(co_await client.send("hello"));
  EXPECT_EQ(co_await client.read_all(), "the server") << "and not a byte of the proxy's";
  co_await proxy.stop();
}

CO_TEST(Dial, TellsASocksProxyItsUser) {
  CannedSocks proxy{executor,
                    {{"\x05\x02\x00\x02"s, "\x05\x02"s},
                     {"\x01\x02me\x06secret"s, "\x01\x00"s},
                     {"\x05\x01\x00\x01\x0a\x00\x00\x07\x01\xbb"s, "\x05\x05\x00\x03\x01x\x00\x00"s}}};
  net::Url way = proxy.url();
  way.user = "me";
  way.password = "secret";
  protocol::Dialer dial = create_dialer(executor, resolver(), {.host = "10.0.0.7", .port = 443}, way);
  auto stream = co_await dial(5s);
  CO_ASSERT_TRUE(!stream.has_value());
  EXPECT_EQ(stream.error().message,
            "the proxy " + way.authority() + " does not connect to 10.0.0.7:443: the connection was refused");
  co_await proxy.stop();
}

CO_TEST(Dial, TakesNothingElseForASocksProxy) {
  CannedSocks other{executor, {{"\x05\x02\x00\x02"s, "HTTP/1.1 400 Bad Request\r\n\r\n"}}};
  net::Url there = other.url();
  there.user = "me";
  protocol::Dialer dial = create_dialer(executor, resolver(), {.host = "api.example", .port = 6443}, there);
  auto stream = co_await dial(5s);
  CO_ASSERT_TRUE(!stream.has_value());
  EXPECT_EQ(stream.error().message, "the proxy " + there.authority() + " does not speak SOCKS 5");
  co_await other.stop();
}

CO_TEST(Dial, RefusesAProxyBehindTlsWhenItIsDialled) {
  protocol::Dialer dial = create_dialer(executor, resolver(), {.host = "api.example", .port = 6443},
                                        net::Url{.host = "proxy.example", .port = 443});
  auto stream = co_await dial(5s);
  CO_ASSERT_TRUE(!stream.has_value());
  EXPECT_EQ(stream.error().code, Errc::not_supported);
  EXPECT_TRUE(stream.error().message.starts_with("the proxy proxy.example:443 is reached by TLS"))
      << stream.error().message;
}

CO_TEST(Dial, SaysThatAProxyIsAway) {
  net::Url away;
  {
    CannedServer proxy{executor, {}};
    away = url_of(proxy);
    co_await proxy.stop();
  }
  protocol::Dialer dial = create_dialer(executor, resolver(), {.host = "api.example", .port = 6443}, away);
  auto stream = co_await dial(5s);
  CO_ASSERT_TRUE(!stream.has_value());
  EXPECT_EQ(stream.error().message.find("the proxy " + away.authority() + " does not answer: connect to "), 0u)
      << stream.error().message;
}

CO_TEST(Dial, ResolvesTheServersName) {
  CannedServer server{executor, {{"hello", true}}};
  net::Url url = url_of(server);
  url.host = "localhost";
  protocol::Dialer dial = create_dialer(executor, resolver(), url, std::nullopt);
  auto stream = co_await dial(5s);
  CO_ASSERT_TRUE(stream.has_value()) << stream.error().message;
  RawClient client{std::move(*stream)};
  EXPECT_TRUE(co_await client.send("\r\n\r\n"));
  EXPECT_EQ(co_await client.read_all(), "hello");
  co_await server.stop();
}

}  // namespace
}  // namespace skiff::kube
