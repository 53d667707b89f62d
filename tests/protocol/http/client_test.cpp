#include "protocol/http/client.hpp"

#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/async/event.hpp"
#include "base/async/task_group.hpp"
#include "tests/protocol/http/raw_client.hpp"
#include "tests/protocol/net/test_certificate.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::protocol {
namespace {

using namespace std::chrono_literals;
using test::RawClient;
using test::Served;
using test::TestServer;

/// Answers with the request's data, streamed on request.
Task<> answer_with_host(HttpExchange& exchange) {
  auto body = co_await exchange.read_body(1024 * 1024);
  std::string text = exchange.request().method + " " + exchange.request().host + " ";
  if (body) text += *body;
  Result<> sent;
  if (exchange.request().target.path == "/stream") {
    sent = co_await exchange.start({});
    for (const char c : text) {
      if (sent) sent = co_await exchange.write(std::string_view{&c, 1});
    }
    if (sent) sent = co_await exchange.finish({{"X-End", "yes"}});
  } else {
    HttpResponse response{.status = 201, .headers = {{"X-Path", exchange.request().target.path}}, .body = text};
    sent = co_await exchange.respond(std::move(response));
  }
  EXPECT_TRUE(sent.has_value());
}

HttpClientOptions to(const Address& address) {
  return {.host = "127.0.0.1", .port = address.port()};
}

CO_TEST(HttpClient, KnowsWhetherItsConnectionCanTakeARequest, Served<answer_with_host>& server) {
  HttpClient client{executor, to(server.address)};
  EXPECT_FALSE(client.is_reusable());
  auto head = co_await client.open({.target = "/stream"});
  CO_ASSERT_TRUE(head.has_value());
  EXPECT_FALSE(client.is_reusable());
  EXPECT_TRUE((co_await client.read_body(1024)).has_value());
  EXPECT_TRUE(client.is_reusable());
  client.close();
  EXPECT_FALSE(client.is_reusable());
}

CO_TEST(HttpClient, KeepsItsConnectionAcrossRequests, Served<answer_with_host>& server) {
  HttpClient client{executor, to(server.address)};
  for (int i = 0; i < 3; ++i) {
    HttpClient::Request request{.method = "POST", .target = "/a?b", .headers = {}, .body = "body"};
    auto reply = co_await client.request(std::move(request));
    CO_ASSERT_TRUE(reply.has_value()) << reply.error().message;
    EXPECT_EQ(reply->head.status, 201u);
    EXPECT_EQ(reply->head.headers.get("x-path"), "/a");
    EXPECT_EQ(reply->body, "POST " + server.address.text() + " body");
    EXPECT_EQ(server.server.connections(), 1u);
  }
  client.close();
}

CO_TEST(HttpClient, SendsTheFieldsOfItsConnectionOnce, Served<answer_with_host>& server) {
  HttpClient client{executor, to(server.address)};
  const Headers others{{"host", "other.example"}, {"content-length", "99"}, {"transfer-encoding", "chunked"}};
  HttpClient::Request request{.method = "POST", .target = "/", .headers = others, .body = "body"};
  auto reply = co_await client.request(std::move(request));
  CO_ASSERT_TRUE(reply.has_value()) << reply.error().message;
  EXPECT_EQ(reply->head.status, 201u);
  EXPECT_EQ(reply->body, "POST other.example body");
  client.close();
}

CO_TEST(HttpClient, StreamsBothWays, Served<answer_with_host>& server) {
  HttpClient client{executor, to(server.address)};
  HttpClient::Request request{.method = "PUT", .target = "/stream"};
  auto sent = co_await client.start(std::move(request));
  const std::array<std::string_view, 2> parts{"one ", "two "};
  if (sent) sent = co_await client.write(parts);
  if (sent) sent = co_await client.write(parts);
  if (sent) sent = co_await client.finish({{"X-Trailer", "ignored"}});
  CO_ASSERT_TRUE(sent.has_value());
  auto head = co_await client.read_head();
  CO_ASSERT_TRUE(head.has_value());
  EXPECT_EQ(head->status, 200u);
  std::string body;
  std::array<char, 5> piece{};
  for (;;) {
    auto got = co_await client.read_some(piece);
    CO_ASSERT_TRUE(got.has_value());
    if (*got == 0) break;
    body.append(piece.data(), *got);
  }
  EXPECT_EQ(body, "PUT " + server.address.text() + " one two one two ");
  EXPECT_EQ(client.trailers().get("X-End"), "yes");
  EXPECT_TRUE(client.connected());
  auto reply = co_await client.request({.method = "HEAD"});
  CO_ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(reply->body, "");
  client.close();
}

CO_TEST(HttpClient, ConnectsAgainWhenTheServerHasClosed) {
  TestServer server{executor, answer_with_host, {.keep_alive_time = 10ms}};
  HttpClient client{executor, to(server.address)};
  for (int i = 0; i < 3; ++i) {
    auto reply = co_await client.request({});
    EXPECT_TRUE(reply.has_value());
    while (server.server.connections() > 0) {
      // Wait for the end of another connection: the server closes it at the same age.
      RawClient other = co_await test::dial(executor, server.address);
      EXPECT_TRUE(co_await other.send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
      co_await other.read_all();
      if (server.server.connections() <= 1) break;
    }
  }
  client.close();
  co_await server.server.stop();
}

/// Plays a server: reads a request's head, then writes the next of `answers`, one for each connection.
Task<> play(Executor executor, std::shared_ptr<std::deque<std::string>> answers, Stream stream) {
  RawClient connection{std::move(stream)};
  const std::string answer = answers->front();
  answers->pop_front();
  co_await connection.read_until("\r\n\r\n");
  EXPECT_TRUE(co_await connection.send(answer));
  connection.stream().shutdown_write();
  co_await connection.read_all();
}

struct PlayedServer {
  PlayedServer(Executor executor, std::deque<std::string> texts)
      : answers{std::make_shared<std::deque<std::string>>(std::move(texts))}, tasks{executor} {
    listener = Listener::open(executor, Address::ip("127.0.0.1", 0).value()).value();
    tasks.spawn("accept", listener->accept_all([this, executor](UniqueFd socket, const Address& peer) {
      tasks.spawn("play", play(executor, answers, Stream{executor, std::move(socket), peer.text()}));
    }));
  }
  Task<> stop() {
    tasks.cancel();
    co_await tasks.join();
  }
  std::shared_ptr<std::deque<std::string>> answers;
  TaskGroup tasks;
  std::unique_ptr<Listener> listener;
};

CO_TEST(HttpClient, ReadsEveryKindOfAnswer) {
  PlayedServer server{
      executor,
      {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: "
       "2\r\n\r\nab",
       "HTTP/1.1 200 OK\r\n\r\nuntil the end", "HTTP/1.0 404 Not Found\r\nContent-Length: 4\r\n\r\ngone",
       "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\nT: v\r\n\r\n",
       "HTTP/1.1 204 No Content\r\n\r\n"}};
  for (const auto& [status, body] :
       {std::pair{200u, "ab"}, {200u, "until the end"}, {404u, "gone"}, {200u, "ab"}, {204u, ""}}) {
    HttpClient client{executor, to(server.listener->address())};
    auto reply = co_await client.request({});
    CO_ASSERT_TRUE(reply.has_value()) << reply.error().message;
    EXPECT_EQ(reply->head.status, status);
    EXPECT_EQ(reply->body, body);
  }
  co_await server.stop();
}

/// Answers the first request of a connection, and closes it at the second.
Task<> answer_the_first(std::shared_ptr<std::vector<std::string>> methods, Stream stream) {
  RawClient connection{std::move(stream)};
  for (int i = 0; i < 2; ++i) {
    const std::string head = co_await connection.read_until("\r\n\r\n");
    if (head.empty()) co_return;
    methods->push_back(head.substr(0, head.find(' ')));
    if (i == 0) EXPECT_TRUE(co_await connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
  }
}

CO_TEST(HttpClient, RepeatsOnlyIdempotentRequests) {
  auto methods = std::make_shared<std::vector<std::string>>();
  TaskGroup tasks{executor};
  auto listener = Listener::open(executor, Address::ip("127.0.0.1", 0).value()).value();
  tasks.spawn("accept", listener->accept_all([&](UniqueFd socket, const Address& peer) {
    tasks.spawn("answer", answer_the_first(methods, Stream{executor, std::move(socket), peer.text()}));
  }));
  const auto sent_by = [&](std::string method) -> Task<std::vector<std::string>> {
    methods->clear();
    HttpClient client{executor, to(listener->address())};
    auto first = co_await client.request({});
    EXPECT_TRUE(first.has_value());
    HttpClient::Request request{.method = method};
    (void)co_await client.request(std::move(request));
    co_return *methods;
  };
  using Methods = std::vector<std::string>;
  for (const std::string method : {"GET", "PUT", "DELETE"}) {
    EXPECT_EQ(co_await sent_by(method), (Methods{"GET", method, method}));
  }
  for (const std::string method : {"POST", "PATCH"}) {
    EXPECT_EQ(co_await sent_by(method), (Methods{"GET", method}));
  }
  tasks.cancel();
  co_await tasks.join();
}

CO_TEST(HttpClient, KeepsNoConnectionOnWhichARequestWasCutShort) {
  auto methods = std::make_shared<std::vector<std::string>>();
  TaskGroup tasks{executor};
  auto listener = Listener::open(executor, Address::ip("127.0.0.1", 0).value()).value();
  tasks.spawn("accept", listener->accept_all([&](UniqueFd socket, const Address& peer) {
    tasks.spawn("answer", answer_the_first(methods, Stream{executor, std::move(socket), peer.text()}));
  }));
  struct Case {
    std::optional<std::uint64_t> length;
    bool is_whole;
  };
  for (const auto& [length, is_whole] : {Case{4, true}, Case{5, false}, Case{std::nullopt, true}, Case{{}, false}}) {
    HttpClient client{executor, to(listener->address())};
    HttpClient::Request request{.method = "POST"};
    auto sent = co_await client.start(std::move(request), length);
    const std::array<std::string_view, 1> parts{"body"};
    if (sent) sent = co_await client.write(parts);
    if (sent && is_whole) sent = co_await client.finish();
    CO_ASSERT_TRUE(sent.has_value()) << sent.error().message;
    auto head = co_await client.read_head();
    CO_ASSERT_TRUE(head.has_value()) << head.error().message;
    EXPECT_EQ(client.connected(), is_whole) << "the rest of it would be the next request";
    EXPECT_TRUE(client.answer_begun());
  }
  tasks.cancel();
  co_await tasks.join();
}

CO_TEST(HttpClient, RefusesAnswersThatAreBrokenOrTooLarge) {
  PlayedServer server{executor,
                      {"", "SSH-2.0-nonsense\r\n", "HTTP/1.1 200 OK\r\nContent-Le",
                       "HTTP/1.1 200 OK\r\nA: " + std::string(70'000, 'a') + "\r\n\r\n",
                       "HTTP/1.1 200 OK\r\nContent-Length: 200\r\n\r\n" + std::string(200, 'b'),
                       "HTTP/1.1 200 OK\r\n\r\n" + std::string(200, 'b')}};
  const std::size_t count = server.answers->size();
  for (std::size_t i = 0; i < count; ++i) {
    HttpClient client{executor, to(server.listener->address())};
    auto reply = co_await client.request({}, 100);
    EXPECT_FALSE(reply.has_value()) << i;
    EXPECT_FALSE(client.connected()) << i;
    if (!reply && i >= count - 2) {
      EXPECT_EQ(reply.error().code, Errc::payload_too_large);
    }
  }
  co_await server.stop();
}

constexpr const char* kCutByLength = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab";
constexpr const char* kCutInChunk = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab";
constexpr const char* kCutBetweenChunks = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n";
constexpr const char* kWhole = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcde";

CO_TEST(HttpClient, RepeatsARequestWhoseAnswerWasTruncated) {
  for (const char* cut : {kCutByLength, kCutInChunk, kCutBetweenChunks}) {
    PlayedServer server{executor, {cut, kWhole}};
    HttpClient client{executor, to(server.listener->address())};
    auto reply = co_await client.request({});
    CO_ASSERT_TRUE(reply.has_value()) << reply.error().message;
    EXPECT_EQ(reply->body, "abcde");
    EXPECT_FALSE(client.was_cut());
    client.close();
    co_await server.stop();
  }
  PlayedServer server{executor, {kCutByLength, kCutInChunk}};
  HttpClient client{executor, to(server.listener->address())};
  auto reply = co_await client.request({});
  CO_ASSERT_TRUE(!reply);
  EXPECT_EQ(reply.error().code, Errc::io_error) << reply.error().message;
  EXPECT_TRUE(client.was_cut());
  co_await server.stop();
}

CO_TEST(HttpClient, RepeatsNoPostWhoseAnswerWasCut) {
  PlayedServer server{executor, {kCutBetweenChunks}};
  HttpClient client{executor, to(server.listener->address())};
  HttpClient::Request request{.method = "POST", .body = "once"};
  auto reply = co_await client.request(std::move(request));
  CO_ASSERT_TRUE(!reply);
  EXPECT_EQ(reply.error().code, Errc::io_error) << reply.error().message;
  co_await server.stop();
}

CO_TEST(HttpClient, ReportsATruncatedStream) {
  for (const char* cut : {kCutByLength, kCutInChunk, kCutBetweenChunks}) {
    PlayedServer server{executor, {cut}};
    HttpClient client{executor, to(server.listener->address())};
    auto head = co_await client.open({});
    CO_ASSERT_TRUE(head.has_value()) << head.error().message;
    std::array<char, 16> bytes{};
    Result<std::size_t> got = co_await client.read_some(bytes);
    while (got && *got > 0) got = co_await client.read_some(bytes);
    CO_ASSERT_TRUE(!got) << cut;
    EXPECT_EQ(got.error().code, Errc::io_error) << cut;
    EXPECT_TRUE(client.was_cut());
    co_await server.stop();
  }
}

Task<> say_nothing(HttpExchange& exchange) {
  co_await exchange.peer_closed();
}

CO_TEST(HttpClient, GivesUpOnAServerThatDoesNotAnswer, Served<say_nothing>& server) {
  HttpClientOptions options = to(server.address);
  options.idle_time = 50ms;
  HttpClient client{executor, std::move(options)};
  auto reply = co_await client.request({});
  CO_ASSERT_TRUE(!reply.has_value());
  EXPECT_EQ(reply.error().code, Errc::timeout);
  EXPECT_EQ(server.server.requests(), 1u);
}

Task<Result<std::vector<Address>>> two_addresses(std::string host, std::uint16_t port) {
  EXPECT_EQ(host, "box.test");
  // No server listens on the first address, which nothing here uses.
  std::vector<Address> found{Address::ip("127.0.0.2", port).value(), Address::ip("127.0.0.1", port).value()};
  co_return found;
}

CO_TEST(HttpClient, AsksItsResolverAndTriesEveryAddress, Served<answer_with_host>& server) {
  HttpClientOptions options = to(server.address);
  options.host = "box.test";
  HttpClient lost{executor, options};
  auto reply = co_await lost.request({});
  EXPECT_FALSE(reply.has_value());
  options.resolver = two_addresses;
  HttpClient client{executor, std::move(options)};
  reply = co_await client.request({});
  CO_ASSERT_TRUE(reply.has_value()) << reply.error().message;
  EXPECT_EQ(reply->body, "GET box.test:" + std::to_string(server.address.port()) + " ");
  client.close();
}

Task<Result<Stream>> dial_counting(Executor executor, Address address, int* count, std::chrono::milliseconds limit) {
  ++*count;
  co_return co_await connect(std::move(address), limit, executor);
}

CO_TEST(HttpClient, ConnectsByItsDialFunction, Served<answer_with_host>& server) {
  int dialled = 0;
  HttpClient client{executor, {.host = "box.test", .port = 80, .dial = [&](std::chrono::milliseconds limit) {
                                 return dial_counting(executor, server.address, &dialled, limit);
                               }}};
  auto connected = co_await client.connect();
  CO_ASSERT_TRUE(connected.has_value());
  EXPECT_TRUE(client.connected());
  EXPECT_EQ(server.server.requests(), 0u);
  for (int i = 0; i < 2; ++i) {
    auto reply = co_await client.request({});
    CO_ASSERT_TRUE(reply.has_value()) << reply.error().message;
    EXPECT_EQ(reply->body, "GET box.test ");
  }
  EXPECT_EQ(dialled, 1);
  client.close();
}

CO_TEST(HttpClient, HandsOverAProxysConnection) {
  // A client ignores a length in the answer to CONNECT (RFC 9110, 9.3.6).
  PlayedServer server{executor,
                      {"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\nfrom behind",
                       "HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno"}};
  HttpClient client{executor, to(server.listener->address())};
  auto head = co_await client.open({.method = "CONNECT", .target = "box.test:443"});
  CO_ASSERT_TRUE(head.has_value()) << head.error().message;
  Upgraded upgraded = client.take_upgraded();
  RawClient raw{std::move(upgraded.stream)};
  EXPECT_EQ(upgraded.buffered + co_await raw.read_all(), "from behind");
  auto reply = co_await client.request({.method = "CONNECT", .target = "box.test:443"});
  CO_ASSERT_TRUE(reply.has_value()) << reply.error().message;
  EXPECT_EQ(reply->body, "no");
  raw.stream().close();
  co_await server.stop();
}

CO_TEST(HttpClient, SpeaksOverAUnixSocket) {
  const test::TemporaryDirectory directory;
  HttpServer server{executor, {.limits = {}, .handler = answer_with_host}};
  server.listen(Listener::open(executor, Address::parse("unix:" + (directory / "s")).value()).value());
  HttpClient client{executor, {.host = "localhost", .unix_path = directory / "s"}};
  auto reply = co_await client.request({});
  CO_ASSERT_TRUE(reply.has_value()) << reply.error().message;
  EXPECT_EQ(reply->body, "GET localhost ");
  client.close();
  co_await server.stop();
  reply = co_await client.request({});
  EXPECT_FALSE(reply.has_value());
}

Task<> exclaim(Upgraded connection) {
  const std::array<std::string_view, 2> parts{connection.buffered, "!"};
  auto sent = co_await connection.stream.write(parts);
  EXPECT_TRUE(sent.has_value());
}

Task<> upgrades_to_exclaim(HttpExchange& exchange) {
  auto sent = co_await exchange.upgrade({{"Connection", "Upgrade"}, {"Upgrade", "shout"}}, exclaim);
  EXPECT_TRUE(sent.has_value());
}

CO_TEST(HttpClient, TakesAnUpgradedConnection, Served<upgrades_to_exclaim>& server) {
  HttpClient client{executor, to(server.address)};
  HttpClient::Request request{.headers = {{"Connection", "Upgrade"}, {"Upgrade", "shout"}}};
  auto head = co_await client.open(std::move(request));
  CO_ASSERT_TRUE(head.has_value());
  EXPECT_EQ(head->status, 101u);
  Upgraded upgraded = client.take_upgraded();
  EXPECT_FALSE(client.connected());
  RawClient raw{std::move(upgraded.stream)};
  EXPECT_EQ(upgraded.buffered + co_await raw.read_all(), "!");
}

Task<> run_to_end(Task<Result<HttpReply>> request) {
  auto reply = co_await std::move(request);
  EXPECT_FALSE(reply.has_value());
}

Task<> signal_and_wait(HttpExchange& exchange, std::shared_ptr<Event> reached) {
  reached->notify_all();
  co_await exchange.peer_closed();
}

CO_TEST(HttpClient, MayBeDestroyedBeforeAndWhileItWaits) {
  const auto reached = std::make_shared<Event>(executor);
  TestServer server{executor, [reached](HttpExchange& exchange) { return signal_and_wait(exchange, reached); }};
  for (const bool under_way : {false, true}) {
    auto client = std::make_unique<HttpClient>(executor, to(server.address));
    TaskGroup group{executor};
    auto request = client->request({});
    group.spawn("request", run_to_end(std::move(request)));
    if (under_way) co_await reached->wait();
    client.reset();
    co_await group.join();
  }
  co_await server.server.stop();
}

}  // namespace
}  // namespace skiff::protocol
