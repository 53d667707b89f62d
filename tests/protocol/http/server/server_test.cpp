#include "protocol/http/server/server.hpp"

#include <gtest/gtest.h>

#include <list>
#include <memory>
#include <new>
#include <string>

#include "base/async/event.hpp"
#include "protocol/net/connection_slots.hpp"
#include "tests/protocol/http/raw_client.hpp"
#include "tests/protocol/net/test_certificate.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::protocol {
namespace {

using namespace std::chrono_literals;
using test::RawClient;
using test::RawResponse;
using test::Served;
using test::TestServer;

constexpr std::string_view kGet = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

Task<> hello(HttpExchange& exchange) {
  HttpResponse response{.status = 200, .headers = {}, .body = "hello"};
  auto sent = co_await exchange.respond(std::move(response));
  EXPECT_TRUE(sent.has_value());
}

struct Gate {
  explicit Gate(Executor executor) : entered{executor}, open{executor} {}
  Event entered;
  Event open;
  int inside = 0;
  bool is_open = false;
};

/// Answers once the gate is open.
Task<> wait_at(HttpExchange& exchange, std::shared_ptr<Gate> gate) {
  ++gate->inside;
  gate->entered.notify_all();
  while (!gate->is_open) co_await gate->open.wait();
  co_await hello(exchange);
}

/// Authenticates clients that present a token.
Task<> hello_to_friends(HttpExchange& exchange) {
  if (exchange.request().target.path.starts_with("/friend")) {
    if (auto kept = exchange.mark_authenticated(); !kept) {
      HttpResponse response{.status = 503, .headers = {}, .body = std::string{name(kept.error().code)}};
      auto sent = co_await exchange.respond(std::move(response));
      EXPECT_TRUE(sent.has_value());
      co_return;
    }
  }
  if (exchange.request().target.path == "/friend/at-work") {
    EXPECT_TRUE((co_await exchange.inform(102, {})).has_value());
    (void)co_await exchange.peer_closed();
  }
  co_await hello(exchange);
}

constexpr std::string_view kGetAsFriend = "GET /friend HTTP/1.1\r\nHost: x\r\n\r\n";

CO_TEST(HttpServer, RefusesAuthenticatedClientsAboveItsLimitForNow) {
  TestServer server{executor, hello_to_friends, {.slots = {.authenticated = 2}}};
  RawClient first = co_await test::dial(executor, server.address);
  RawClient second = co_await test::dial(executor, server.address);
  for (RawClient* client : {&first, &second}) {
    EXPECT_TRUE(co_await client->send("GET /friend/at-work HTTP/1.1\r\nHost: x\r\n\r\n"));
    EXPECT_TRUE((co_await client->read_until("\r\n\r\n")).starts_with("HTTP/1.1 102"));
  }
  EXPECT_EQ(server.server.connections(), 2u);
  // Open more connections one after another than there are slots for unauthenticated ones.
  for (int number = 0; number < 70; ++number) {
    RawClient third = co_await test::dial(executor, server.address);
    EXPECT_TRUE(co_await third.send(std::string{kGetAsFriend}));
    const RawResponse response = co_await third.response();
    CO_ASSERT_TRUE(response.status == 503u) << number;
    EXPECT_EQ(response.body, "too_many_connections");
    EXPECT_TRUE(response.has("Connection: close\r\n"));
    EXPECT_TRUE(co_await third.ended());
    RawClient stranger = co_await test::dial(executor, server.address);
    EXPECT_TRUE(co_await stranger.send(std::string{kGet}));
    CO_ASSERT_TRUE((co_await stranger.response()).status == 200u) << number;
  }

  first.stream().close();
  // There is room again once the server has noticed the end of the first.
  unsigned status = 0;
  while (status != 200) {
    RawClient fourth = co_await test::dial(executor, server.address);
    EXPECT_TRUE(co_await fourth.send(std::string{kGetAsFriend}));
    status = (co_await fourth.response()).status;
  }
  co_await server.server.stop();
}

constexpr std::size_t kStrangersOnly = SlotLimits{}.strangers;

/// Opens one more unauthenticated connection than there are reserved slots. Each sends `said`, and reads the answer if
/// that was a head.
Task<> crowd(std::list<RawClient>* strangers, Address address, std::string said) {
  const Executor executor = co_await boost::asio::this_coro::executor;
  for (std::size_t number = 0; number < 1 + kStrangersOnly; ++number) {
    strangers->push_back(co_await test::dial(executor, address));
    if (said.empty()) continue;
    EXPECT_TRUE(co_await strangers->back().send(said));
    if (said.contains("\r\n\r\n")) EXPECT_EQ((co_await strangers->back().response()).status, 200u);
  }
}

CO_TEST(HttpServer, ClosesUnauthenticatedConnectionsFirst) {
  TestServer server{executor, hello_to_friends, {.slots = {.authenticated = 2}}};
  RawClient known = co_await test::dial(executor, server.address);
  EXPECT_TRUE(co_await known.send(std::string{kGetAsFriend}));
  EXPECT_EQ((co_await known.response()).status, 200u);
  // Test silent connections, half heads, answered ones, and one with a body that is not read.
  for (const std::string_view said : {std::string_view{}, std::string_view{"GET / HT"}, kGet,
                                      std::string_view{"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc"}}) {
    std::list<RawClient> strangers;
    co_await crowd(&strangers, server.address, std::string{said});
    RawClient next = co_await test::dial(executor, server.address);
    EXPECT_TRUE(co_await next.send(std::string{kGetAsFriend}));
    EXPECT_EQ((co_await next.response()).status, 200u);
    EXPECT_TRUE(co_await strangers.front().ended()) << "who came first made room";
    EXPECT_TRUE(co_await known.send(std::string{kGetAsFriend}));
    EXPECT_EQ((co_await known.response()).status, 200u);
  }
  co_await server.server.stop();
}

CO_TEST(HttpServer, DrainsByEndingConnectionsAfterTheirAnswer) {
  const auto gate = std::make_shared<Gate>(executor);
  TestServer server{executor, [gate](HttpExchange& exchange) { return wait_at(exchange, gate); }};
  RawClient idle = co_await test::dial(executor, server.address);
  RawClient busy = co_await test::dial(executor, server.address);
  gate->is_open = true;
  EXPECT_TRUE(co_await idle.send(std::string{kGet}));
  EXPECT_EQ((co_await idle.response()).status, 200u);
  gate->is_open = false;
  EXPECT_TRUE(co_await busy.send(std::string{kGet}));
  while (gate->inside < 2) co_await gate->entered.wait();

  server.server.drain();
  EXPECT_TRUE(co_await idle.ended());
  gate->is_open = true;
  gate->open.notify_all();
  RawResponse response = co_await busy.response();
  EXPECT_EQ(response.status, 200u);
  EXPECT_TRUE(response.has("Connection: close\r\n"));
  // New connections still get an answer, so that readiness probes work.
  RawClient late = co_await test::dial(executor, server.address);
  EXPECT_TRUE(co_await late.send(std::string{kGet}));
  response = co_await late.response();
  EXPECT_EQ(response.status, 200u);
  EXPECT_TRUE(response.has("Connection: close\r\n"));
  co_await server.server.stop();
}

/// Sends the head of an answer, and the body once the gate is open.
Task<> wait_within(HttpExchange& exchange, std::shared_ptr<Gate> gate) {
  HttpResponse head{.status = 200, .headers = {}, .body = {}};
  auto begun = co_await exchange.start(std::move(head));
  EXPECT_TRUE(begun.has_value());
  ++gate->inside;
  gate->entered.notify_all();
  while (!gate->is_open) co_await gate->open.wait();
  auto wrote = co_await exchange.write(std::string_view{"hello"});
  EXPECT_TRUE(wrote.has_value());
  auto finished = co_await exchange.finish();
  EXPECT_TRUE(finished.has_value());
}

CO_TEST(HttpServer, EndsAConnectionWhoseAnswerHadBegunBeforeTheDrain) {
  const auto gate = std::make_shared<Gate>(executor);
  TestServer server{executor, [gate](HttpExchange& exchange) { return wait_within(exchange, gate); }};
  RawClient client = co_await test::dial(executor, server.address);
  EXPECT_TRUE(co_await client.send(std::string{kGet}));
  while (gate->inside < 1) co_await gate->entered.wait();
  server.server.drain();
  gate->is_open = true;
  gate->open.notify_all();
  const RawResponse response = co_await client.response();
  EXPECT_FALSE(response.has("Connection: close\r\n")) << "the head had gone";
  EXPECT_EQ(response.body, "hello");
  // A kept connection would answer this.
  (void)co_await client.send(std::string{kGet});
  EXPECT_TRUE(co_await client.ended());
  co_await server.server.stop();
}

Task<> without_memory(HttpExchange& exchange) {
  if (exchange.request().target.path == "/greedy") throw std::bad_alloc{};
  co_await hello(exchange);
}

CO_TEST(HttpServer, ReportsALackOfMemoryAndServesOn, Served<without_memory>& server) {
  RawClient client = co_await test::dial(executor, server.address);
  EXPECT_TRUE(co_await client.send("GET /greedy HTTP/1.1\r\nHost: x\r\n\r\n"));
  const RawResponse response = co_await client.response();
  EXPECT_EQ(response.status, 503u);
  RawClient next = co_await test::dial(executor, server.address);
  EXPECT_TRUE(co_await next.send(std::string{kGet}));
  EXPECT_EQ((co_await next.response()).status, 200u);
}

CO_TEST(HttpServer, StopsHandlersThatAreUnderWay) {
  const auto gate = std::make_shared<Gate>(executor);
  TestServer server{executor, [gate](HttpExchange& exchange) { return wait_at(exchange, gate); }};
  RawClient client = co_await test::dial(executor, server.address);
  EXPECT_TRUE(co_await client.send(std::string{kGet}));
  while (gate->inside < 1) co_await gate->entered.wait();
  co_await server.server.stop();
  EXPECT_EQ(server.server.connections(), 0u);
  EXPECT_TRUE(co_await client.ended());
  auto refused = co_await connect(server.address, 5s, executor);
  EXPECT_FALSE(refused.has_value());
}

CO_TEST(HttpServer, LetsItsOwnerFormatErrors) {
  HttpServerOptions options{.limits = {}, .handler = hello, .error_response = [](unsigned status, const Error& error) {
                              return HttpResponse{.status = status,
                                                  .headers = {{"Content-Type", "application/problem+json"}},
                                                  .body = std::string{name(error.code)}};
                            }};
  HttpServer server{executor, std::move(options)};
  std::shared_ptr<Listener> listener = Listener::open(executor, Address::parse("127.0.0.1:0").value()).value();
  const Address address = listener->address();
  server.listen(std::move(listener));
  RawClient client = co_await test::dial(executor, address);
  EXPECT_TRUE(co_await client.send("GET / HTTP/3.0\r\n\r\n"));
  const RawResponse response = co_await client.response();
  EXPECT_EQ(response.status, 505u);
  EXPECT_EQ(response.body, "unsupported_version");
  EXPECT_TRUE(response.has("Content-Type: application/problem+json\r\n"));
  co_await server.stop();
}

CO_TEST(HttpServer, ServesAUnixSocket) {
  const test::TemporaryDirectory directory;
  HttpServer server{executor, {.limits = {}, .handler = hello}};
  const Address address = Address::parse("unix:" + (directory / "s")).value();
  server.listen(Listener::open(executor, address).value());
  RawClient client = co_await test::dial(executor, address);
  EXPECT_TRUE(co_await client.send(std::string{kGet}));
  EXPECT_EQ((co_await client.response()).body, "hello");
  co_await server.stop();
}

}  // namespace
}  // namespace skiff::protocol
