#include "protocol/http/server/exchange.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <stdexcept>
#include <string>

#include <boost/asio/basic_waitable_timer.hpp>

#include "base/async/event.hpp"
#include "tests/protocol/http/raw_client.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::protocol {
namespace {

using namespace std::chrono_literals;
using test::RawClient;
using test::RawResponse;
using test::Served;
using test::TestServer;

std::string get(std::string_view target, std::string_view method = "GET", std::string_view version = "1.1") {
  return std::string{method} + " " + std::string{target} + " HTTP/" + std::string{version} + "\r\nHost: x\r\n\r\n";
}

Task<> streams(HttpExchange& exchange) {
  const std::string& target = exchange.request().target.path;
  HttpResponse head{.status = 200, .headers = {{"X-Kind", "stream"}}, .body = {}};
  Result<> sent;
  if (target == "/chunks") {
    sent = co_await exchange.start(head);
    const std::array<std::string_view, 3> parts{"one ", "", "two "};
    if (sent) sent = co_await exchange.write(parts);
    if (sent) sent = co_await exchange.write("three");
    if (sent) sent = co_await exchange.finish({{"X-Exit-Code", "0"}});
  } else if (target == "/length") {
    sent = co_await exchange.start(head, 6, HttpExchange::Send::with_first_write);
    if (sent) sent = co_await exchange.write("abc");
    if (sent) sent = co_await exchange.write("def");
    if (sent) sent = co_await exchange.finish();
  } else if (target == "/cut") {
    sent = co_await exchange.start(head);
    if (sent) sent = co_await exchange.write("part");
  } else if (target == "/short") {
    sent = co_await exchange.start(head, 6);
    if (sent) sent = co_await exchange.write("abc");
    EXPECT_TRUE(sent.has_value());
    sent = co_await exchange.finish();
    EXPECT_EQ(sent.error().code, Errc::internal);
  } else if (target == "/nothing") {
    head.status = 204;
    sent = co_await exchange.start(head);
    if (sent) sent = co_await exchange.finish();
  } else if (target == "/fixed") {
    exchange.extra_headers().add("X-Request-Id", "r1");
    head.body = "fixed";
    sent = co_await exchange.respond(head);
    EXPECT_EQ(exchange.status(), 200u);
  } else if (target == "/twice") {
    exchange.extra_headers().add("x-kind", "extra");
    exchange.extra_headers().add("X-Request-Id", "r1");
    sent = co_await exchange.respond(head);
  } else if (target == "/forge") {
    head.headers.add("X-Echo", "a\r\nX-Forged: 1");
    sent = co_await exchange.respond(head);
  } else if (target == "/throw") {
    throw std::runtime_error{"a bug"};
  }
}

CO_TEST(HttpExchange, StreamsChunksWithTrailers, Served<streams>& server) {
  RawClient client = co_await test::dial(executor, server.address);
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(co_await client.send(get("/chunks")));
    const RawResponse response = co_await client.response();
    EXPECT_TRUE(response.has("Transfer-Encoding: chunked\r\n"));
    EXPECT_TRUE(response.has("X-Kind: stream\r\n"));
    EXPECT_EQ(response.body, "one two three");
    EXPECT_EQ(response.trailers, "X-Exit-Code: 0\r\n");
  }
}

CO_TEST(HttpExchange, EndsAStreamToHttp10WithTheConnection, Served<streams>& server) {
  RawClient client = co_await test::dial(executor, server.address);
  EXPECT_TRUE(co_await client.send("GET /chunks HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
  const RawResponse response = co_await client.response();
  EXPECT_FALSE(response.has("Transfer-Encoding"));
  EXPECT_TRUE(response.has("Connection: close\r\n"));
  EXPECT_EQ(response.body, "one two three");
}

CO_TEST(HttpExchange, StreamsABodyOfKnownLength, Served<streams>& server) {
  RawClient client = co_await test::dial(executor, server.address);
  for (const std::string_view version : {"1.1", "1.1"}) {
    EXPECT_TRUE(co_await client.send(get("/length", "GET", version)));
    const RawResponse response = co_await client.response();
    EXPECT_TRUE(response.has("Content-Length: 6\r\n"));
    EXPECT_EQ(response.body, "abcdef");
  }
}

CO_TEST(HttpExchange, AnswersHeadLikeGetButWithoutABody, Served<streams>& server) {
  RawClient client = co_await test::dial(executor, server.address);
  for (const std::string_view target : {"/fixed", "/length", "/chunks"}) {
    EXPECT_TRUE(co_await client.send(get(target)));
    const RawResponse full = co_await client.response();
    EXPECT_TRUE(co_await client.send(get(target, "HEAD")));
    const RawResponse head = co_await client.response(true);
    const auto without_date = [](std::string text) {
      const std::size_t at = text.find("Date: ");
      return text.erase(at, text.find("\r\n", at) - at);
    };
    EXPECT_EQ(without_date(head.head), without_date(full.head)) << target;
  }
  // No bytes of a body are between this answer and the last.
  EXPECT_TRUE(co_await client.send(get("/fixed")));
  EXPECT_EQ((co_await client.response()).body, "fixed");
}

CO_TEST(HttpExchange, SendsNoBodyAndNoLengthWith204, Served<streams>& server) {
  RawClient client = co_await test::dial(executor, server.address);
  EXPECT_TRUE(co_await client.send(get("/nothing") + get("/fixed")));
  const RawResponse response = co_await client.response();
  EXPECT_EQ(response.status, 204u);
  EXPECT_FALSE(response.has("Content-Length"));
  EXPECT_FALSE(response.has("Transfer-Encoding"));
  const RawResponse next = co_await client.response();
  EXPECT_EQ(next.body, "fixed");
  EXPECT_TRUE(next.has("X-Request-Id: r1\r\n"));
}

CO_TEST(HttpExchange, ShowsThatABodyWasCut, Served<streams>& server) {
  for (const std::string_view target : {"/cut", "/short"}) {
    RawClient client = co_await test::dial(executor, server.address);
    EXPECT_TRUE(co_await client.send(get(target)));
    EXPECT_TRUE((co_await client.response()).cut) << target;
  }
  // To HTTP/1.0 the end of the connection is the end of the body, so it must not look like one.
  RawClient client = co_await test::dial(executor, server.address);
  EXPECT_TRUE(co_await client.send(get("/cut", "GET", "1.0")));
  std::array<char, 4096> bytes{};
  Result<std::size_t> got = std::size_t{1};
  while (got && *got > 0) got = co_await client.stream().read_some(bytes);
  EXPECT_FALSE(got.has_value());
}

CO_TEST(HttpExchange, TurnsAForgottenOrFailedAnswerInto500, Served<streams>& server) {
  for (const std::string_view target : {"/unknown", "/throw"}) {
    RawClient client = co_await test::dial(executor, server.address);
    EXPECT_TRUE(co_await client.send(get(target)));
    EXPECT_EQ((co_await client.response()).status, 500u) << target;
    EXPECT_TRUE(co_await client.ended());
  }
}

CO_TEST(HttpExchange, LetsNoValueForgeAHeader, Served<streams>& server) {
  RawClient client = co_await test::dial(executor, server.address);
  EXPECT_TRUE(co_await client.send(get("/forge")));
  const RawResponse response = co_await client.response();
  EXPECT_FALSE(response.has("\r\nX-Forged"));
  EXPECT_TRUE(response.has("X-Echo: a  X-Forged: 1\r\n"));
}

CO_TEST(HttpExchange, SendsNoFieldTwice, Served<streams>& server) {
  RawClient client = co_await test::dial(executor, server.address);
  EXPECT_TRUE(co_await client.send(get("/twice")));
  const RawResponse response = co_await client.response();
  EXPECT_TRUE(response.has("X-Kind: stream\r\n")) << "the response's own";
  EXPECT_FALSE(response.has("x-kind"));
  EXPECT_TRUE(response.has("X-Request-Id: r1\r\n"));
}

/// Reads the body in pieces of 7 bytes, or as a whole with a limit of 100.
Task<> reads(HttpExchange& exchange) {
  HttpResponse response;
  if (exchange.request().target.path == "/pieces") {
    std::array<char, 7> piece{};
    for (;;) {
      auto got = co_await exchange.read_body_some(piece);
      if (!got) {
        response = {.status = 400, .headers = {}, .body = got.error().message};
        break;
      }
      if (*got == 0) break;
      response.body.append(piece.data(), *got);
    }
  } else if (exchange.request().target.path == "/refuse") {
    response.status = 403;
  } else {
    auto body = co_await exchange.read_body(100);
    if (!body) response.status = body.error().code == Errc::payload_too_large ? 413 : 400;
    if (body) response.body = *body;
  }
  auto sent = co_await exchange.respond(std::move(response));
  if (!sent) co_return;
}

CO_TEST(HttpExchange, ReadsABodyInPieces, Served<reads>& server) {
  RawClient client = co_await test::dial(executor, server.address);
  std::string text;
  for (int i = 0; i < 10'000; ++i) text += std::to_string(i);
  EXPECT_TRUE(co_await client.send(
      "POST /pieces HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(text.size()) + "\r\n\r\n" + text));
  EXPECT_EQ((co_await client.response()).body, text);
  std::string chunked;
  for (std::size_t at = 0; at < text.size(); at += 13) {
    const std::string piece = text.substr(at, 13);
    chunked += (piece.size() == 13 ? "d" : std::to_string(piece.size())) + "\r\n" + piece + "\r\n";
  }
  EXPECT_TRUE(co_await client.send("POST /pieces HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked +
                                   "0\r\n\r\n"));
  EXPECT_EQ((co_await client.response()).body, text);
}

CO_TEST(HttpExchange, RefusesABodyAboveItsLimit, Served<reads>& server) {
  RawClient client = co_await test::dial(executor, server.address);
  EXPECT_TRUE(
      co_await client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n" + std::string(100, 'a')));
  EXPECT_EQ((co_await client.response()).body, std::string(100, 'a'));
  EXPECT_TRUE(
      co_await client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 101\r\n\r\n" + std::string(101, 'a')));
  EXPECT_EQ((co_await client.response()).status, 413u);
  EXPECT_TRUE(co_await client.send("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n64\r\n" +
                                   std::string(100, 'a') + "\r\n1\r\na\r\n0\r\n\r\n"));
  EXPECT_EQ((co_await client.response()).status, 413u);
  EXPECT_TRUE(co_await client.send("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n64\r\n" +
                                   std::string(100, 'a') + "\r\n0\r\n\r\n"));
  EXPECT_EQ((co_await client.response()).status, 200u);
}

CO_TEST(HttpExchange, SaysContinueOnlyWhenTheBodyIsWanted, Served<reads>& server) {
  const std::string expecting = " HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n";
  RawClient wanted = co_await test::dial(executor, server.address);
  EXPECT_TRUE(co_await wanted.send("POST /" + expecting));
  EXPECT_EQ(co_await wanted.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  EXPECT_TRUE(co_await wanted.send("abc"));
  const RawResponse answer = co_await wanted.response();
  EXPECT_EQ(answer.body, "abc");
  EXPECT_FALSE(answer.has("Connection: close"));

  RawClient refused = co_await test::dial(executor, server.address);
  EXPECT_TRUE(co_await refused.send("POST /refuse" + expecting));
  const RawResponse refusal = co_await refused.response();
  EXPECT_EQ(refusal.status, 403u);
  EXPECT_TRUE(refusal.has("Connection: close\r\n"));
  EXPECT_TRUE(co_await refused.ended());

  RawClient too_large = co_await test::dial(executor, server.address);
  EXPECT_TRUE(
      co_await too_large.send("POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 101\r\n\r\n"));
  EXPECT_EQ((co_await too_large.response()).status, 413u);
}

Task<> relays(HttpExchange& exchange) {
  exchange.relay_continue();
  if (exchange.request().target.path == "/refuse") {
    HttpResponse refusal{.status = 413};
    (void)co_await exchange.respond(std::move(refusal));
    co_return;
  }
  EXPECT_TRUE((co_await exchange.inform(103, {{"Link", "</a>"}})).has_value());
  EXPECT_TRUE((co_await exchange.inform(100, {})).has_value());
  auto body = co_await exchange.read_body(100);
  std::string text = body.value_or("none") + " " + std::string{exchange.trailers().get("x-sum")};
  HttpResponse response{.status = 200, .headers = {{"Server", "theirs"}, {"Date", "then"}}, .body = std::move(text)};
  (void)co_await exchange.respond(std::move(response));
}

CO_TEST(HttpExchange, RelaysInterimAnswersAndTrailers, Served<relays>& server) {
  const std::string expecting = " HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n";
  RawClient client = co_await test::dial(executor, server.address);
  EXPECT_TRUE(co_await client.send("POST /" + expecting));
  EXPECT_EQ(co_await client.read_until("\r\n\r\n"), "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n");
  EXPECT_EQ(co_await client.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  EXPECT_TRUE(co_await client.send("3\r\nabc\r\n0\r\nX-Sum: 6\r\n\r\n"));
  const RawResponse answer = co_await client.response();
  EXPECT_EQ(answer.body, "abc 6");
  EXPECT_TRUE(answer.has("Server: theirs\r\n") && !answer.has("Server: test"));
  EXPECT_TRUE(answer.has("Date: then\r\n") && !answer.has("GMT"));
  EXPECT_FALSE(answer.has("Connection: close"));

  RawClient refused = co_await test::dial(executor, server.address);
  EXPECT_TRUE(co_await refused.send("POST /refuse" + expecting));
  EXPECT_TRUE((co_await refused.response()).has("Connection: close\r\n")) << "its body may come, or the next request";
  EXPECT_TRUE(co_await refused.ended());

  RawClient old = co_await test::dial(executor, server.address);
  EXPECT_TRUE(co_await old.send("POST / HTTP/1.0\r\nContent-Length: 3\r\n\r\nabc"));
  EXPECT_EQ((co_await old.response()).status, 200u) << "a 1.0 client knows no interim answer";
}

struct Waiting {
  explicit Waiting(Executor executor) : began{executor}, gone{executor} {}
  Event began;
  Event gone;
  bool has_begun = false;
  bool is_gone = false;
};

Task<> wait_for_peer(HttpExchange& exchange, std::shared_ptr<Waiting> waiting) {
  waiting->has_begun = true;
  waiting->began.notify_all();
  const auto leave = [waiting] {
    waiting->is_gone = true;
    waiting->gone.notify_all();
  };
  co_await exchange.watch_peer(leave);
}

CO_TEST(HttpExchange, LearnsThatThePeerIsGone) {
  for (const bool reset : {false, true}) {
    const auto waiting = std::make_shared<Waiting>(executor);
    TestServer server{executor, [waiting](HttpExchange& exchange) { return wait_for_peer(exchange, waiting); }};
    RawClient client = co_await test::dial(executor, server.address);
    // A pipelined request neither looks like an end nor hides one.
    EXPECT_TRUE(co_await client.send(get("/") + get("/next")));
    while (!waiting->has_begun) co_await waiting->began.wait();
    EXPECT_FALSE(waiting->is_gone);
    const ::linger at_once{.l_onoff = reset ? 1 : 0, .l_linger = 0};
    ::setsockopt(client.stream().fd(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    client.stream().close();
    while (!waiting->is_gone) co_await waiting->gone.wait();
    co_await server.server.stop();
  }
}

Task<> shout_after_six(Upgraded connection) {
  std::string received = connection.buffered;
  while (received.size() < 6) {
    std::array<char, 16> bytes{};
    auto got = co_await connection.stream.read_some(bytes);
    if (!got || *got == 0) co_return;
    received.append(bytes.data(), *got);
  }
  const std::array<std::string_view, 2> parts{received, "!"};
  auto sent = co_await connection.stream.write(parts);
  EXPECT_TRUE(sent.has_value());
}

Task<> upgrades_to_shout(HttpExchange& exchange) {
  Headers headers{{"Connection", "Upgrade"}, {"Upgrade", "shout"}};
  auto sent = co_await exchange.upgrade(std::move(headers), shout_after_six);
  EXPECT_TRUE(sent.has_value());
}

CO_TEST(HttpExchange, HandsAnUpgradedConnectionOverWithWhatCameEarly, Served<upgrades_to_shout>& server) {
  RawClient client = co_await test::dial(executor, server.address);
  EXPECT_TRUE(co_await client.send("GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: shout\r\n\r\nabc"));
  const RawResponse response = co_await client.response();
  EXPECT_EQ(response.status, 101u);
  EXPECT_TRUE(response.has("Upgrade: shout\r\n"));
  EXPECT_FALSE(response.has("Content-Length"));
  EXPECT_TRUE(co_await client.send("def"));
  EXPECT_EQ(co_await client.read_all(), "abcdef!");
}

}  // namespace
}  // namespace skiff::protocol
