#include "protocol/http/server/connection.hpp"

#include <gtest/gtest.h>

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <string>
#include <vector>

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>

#include "base/async/beside.hpp"
#include "tests/protocol/http/raw_client.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::protocol {
namespace {

using namespace std::chrono_literals;
using test::RawClient;
using test::RawResponse;
using test::Served;
using test::TestServer;

/// Answers with the method, the target and the body, so that a test sees where the server ended a request.
Task<> answer_with_target(HttpExchange& exchange) {
  auto body = co_await exchange.read_body(1024 * 1024);
  HttpResponse response;
  if (body) {
    response.body = exchange.request().method + " " + exchange.request().target_text + " [" + *body + "]";
  } else {
    const Errc code = body.error().code;
    response.status = code == Errc::payload_too_large ? 413 : code == Errc::request_timeout ? 408 : 400;
    response.body = body.error().message;
  }
  auto sent = co_await exchange.respond(std::move(response));
  if (!sent) co_return;
}

/// Answers without reading the body.
Task<> ignore_body(HttpExchange& exchange) {
  HttpResponse response{.status = 200, .headers = {}, .body = "ignored"};
  auto sent = co_await exchange.respond(std::move(response));
  if (!sent) co_return;
}

CO_TEST(HttpConnection, ServesOneRequestAfterTheOtherOnAConnection, Served<answer_with_target>& server) {
  RawClient client = co_await test::dial(executor, server.address);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(co_await client.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n"));
    const RawResponse response = co_await client.response();
    EXPECT_EQ(response.status, 200u);
    EXPECT_EQ(response.body, "GET /a []");
    EXPECT_TRUE(response.has("Server: test\r\n"));
    EXPECT_TRUE(response.has("\r\nDate: "));
    EXPECT_FALSE(response.has("Connection:"));
  }
  EXPECT_EQ(server.server.requests(), 3u);
}

/// Sets `most` to the largest number of requests served without a turn of other work.
Task<> watch_turns(const HttpServer* server, std::size_t* most) {
  const Executor executor = co_await boost::asio::this_coro::executor;
  for (std::size_t before = 0;;) {
    co_await boost::asio::post(executor, use_task);
    *most = std::max(*most, server->requests() - before);
    before = server->requests();
  }
}

CO_TEST(HttpConnection, LetsOthersInBetweenManyPipelinedRequests, Served<answer_with_target>& server) {
  RawClient client = co_await test::dial(executor, server.address);
  std::string many;
  for (int i = 0; i < 3000; ++i) many += "GET /" + std::to_string(i) + " HTTP/1.1\r\nHost: x\r\n\r\n";
  std::size_t most = 0;
  EXPECT_TRUE(co_await client.send(many + "GET /last HTTP/1.1\r\nHost: x\r\n\r\n"));
  const std::string answers =
      co_await run_beside(watch_turns(&server.server, &most), client.read_until("GET /last []"));
  EXPECT_TRUE(answers.ends_with("GET /last []"));
  EXPECT_GT(most, 1U);
  EXPECT_LE(most, 40U);
}

CO_TEST(HttpConnection, TakesPipelinedRequestsCutAtEveryByte, Served<answer_with_target>& server) {
  const std::string bytes =
      "POST /one HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"
      "PUT /two HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n4;e=1\r\nwxyz\r\n0\r\nT: v\r\n\r\n"
      "GET /three HTTP/1.1\r\nHost: x\r\n\r\n";
  for (std::size_t cut = 1; cut < bytes.size(); ++cut) {
    RawClient client = co_await test::dial(executor, server.address);
    EXPECT_TRUE(co_await client.send(bytes.substr(0, cut)));
    // The server must have read the earlier bytes alone: wait for the answers, if a request is complete, or for a turn
    // of the reactor.
    auto writable = co_await client.stream().writable();
    EXPECT_TRUE(writable.has_value());
    EXPECT_TRUE(co_await client.send(bytes.substr(cut)));
    RawResponse response = co_await client.response();
    EXPECT_EQ(response.body, "POST /one [abc]") << "cut at " << cut;
    response = co_await client.response();
    EXPECT_EQ(response.body, "PUT /two [wxyz]") << "cut at " << cut;
    response = co_await client.response();
    EXPECT_EQ(response.body, "GET /three []") << "cut at " << cut;
  }
}

CO_TEST(HttpConnection, TakesARequestThatComesByteByByte, Served<answer_with_target>& server) {
  RawClient client = co_await test::dial(executor, server.address);
  const std::string bytes =
      "POST /slow HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\n";
  for (const char byte : bytes) {
    EXPECT_TRUE(co_await client.send(std::string(1, byte)));
    auto writable = co_await client.stream().writable();
    EXPECT_TRUE(writable.has_value());
  }
  const RawResponse response = co_await client.response();
  EXPECT_EQ(response.body, "POST /slow [abc0123456789]");
}

struct Shape {
  std::string_view what;
  std::string_view bytes;
  unsigned status = 400;
};

const std::vector<Shape>& refused_shapes() {
  using namespace std::string_view_literals;
  static const std::vector<Shape> shapes{
      {"length and chunked",
       "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
      {"repeated length", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc"},
      {"repeated equal length", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc"},
      {"list of lengths", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3, 3\r\n\r\nabc"},
      {"signed length", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: +3\r\n\r\nabc"},
      {"negative length", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -3\r\n\r\nabc"},
      {"hexadecimal length", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0x3\r\n\r\nabc"},
      {"empty length", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length:\r\n\r\nabc"},
      {"length too large", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\nabc"},
      {"repeated coding",
       "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
      {"other coding", "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"},
      {"coding with a tail", "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n"},
      {"coding that looks like it", "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"},
      {"coding in 1.0", "POST / HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
      {"repeated Host", "GET / HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n"},
      {"repeated Authorization", "GET / HTTP/1.1\r\nHost: x\r\nAuthorization: a\r\nauthorization: a\r\n\r\n"},
      {"repeated Origin", "GET / HTTP/1.1\r\nHost: x\r\nOrigin: http://x\r\nOrigin: http://x\r\n\r\n"},
      {"no Host", "GET / HTTP/1.1\r\nAccept: */*\r\n\r\n"},
      {"Host with a path", "GET / HTTP/1.1\r\nHost: x/y\r\n\r\n"},
      {"bare line feeds", "GET / HTTP/1.1\nHost: x\n\n"},
      {"bare line feed in the header", "GET / HTTP/1.1\r\nHost: x\nA: b\r\n\r\n"},
      {"bare carriage return", "GET / HTTP/1.1\r\nHost: x\rA: b\r\n\r\n"},
      {"bare carriage return before the end", "GET / HTTP/1.1\r\nHost: x\r\r\n\r\n"},
      {"folding", "GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n"},
      {"folding by tab", "GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n\tc\r\n\r\n"},
      {"folding at the start", "GET / HTTP/1.1\r\n Host: x\r\n\r\n"},
      {"space before the colon", "GET / HTTP/1.1\r\nHost : x\r\n\r\n"},
      {"no colon", "GET / HTTP/1.1\r\nHost: x\r\nnonsense\r\n\r\n"},
      {"empty name", "GET / HTTP/1.1\r\nHost: x\r\n: b\r\n\r\n"},
      {"NUL in a value", "GET / HTTP/1.1\r\nHost: x\r\nA: b\0c\r\n\r\n"sv},
      {"escape in a value", "GET / HTTP/1.1\r\nHost: x\r\nA: b\x1b[0m\r\n\r\n"},
      {"delete in a value", "GET / HTTP/1.1\r\nHost: x\r\nA: b\x7f\r\n\r\n"},
      {"NUL in a name", "GET / HTTP/1.1\r\nHost: x\r\nA\0B: c\r\n\r\n"sv},
      {"NUL in the target", "GET /\0 HTTP/1.1\r\nHost: x\r\n\r\n"sv},
      {"space in the target", "GET /a b HTTP/1.1\r\nHost: x\r\n\r\n"},
      {"two spaces", "GET  / HTTP/1.1\r\nHost: x\r\n\r\n"},
      {"bad method", "G(T / HTTP/1.1\r\nHost: x\r\n\r\n"},
      {"no version", "GET /\r\nHost: x\r\n\r\n"},
      {"small version", "GET / http/1.1\r\nHost: x\r\n\r\n"},
      {"version 0.9", "GET / HTTP/0.9\r\nHost: x\r\n\r\n", 505},
      {"version 2.0", "GET / HTTP/2.0\r\nHost: x\r\n\r\n", 505},
      {"version 1.2", "GET / HTTP/1.2\r\nHost: x\r\n\r\n", 505},
      {"the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
      {"target names another host", "GET http://y/ HTTP/1.1\r\nHost: x\r\n\r\n"},
      {"target with user information", "GET http://u@x/ HTTP/1.1\r\nHost: x\r\n\r\n"},
      {"authority form", "CONNECT x:1 HTTP/1.1\r\nHost: x:1\r\n\r\n"},
      {"fragment", "GET /#a HTTP/1.1\r\nHost: x\r\n\r\n"},
      {"encoded NUL", "GET /%00 HTTP/1.1\r\nHost: x\r\n\r\n"},
      {"bad escape", "GET /%zz HTTP/1.1\r\nHost: x\r\n\r\n"},
      {"other expectation", "POST / HTTP/1.1\r\nHost: x\r\nExpect: 200-maybe\r\nContent-Length: 1\r\n\r\na", 417},
      {"TLS to a plain port", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\n"sv},
  };
  return shapes;
}

CO_TEST(HttpConnection, RefusesAmbiguousRequestsAndCloses, Served<answer_with_target>& server) {
  for (const Shape& shape : refused_shapes()) {
    RawClient client = co_await test::dial(executor, server.address);
    // Send a second request right after it, which must not be answered.
    EXPECT_TRUE(co_await client.send(std::string{shape.bytes} + "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"));
    const RawResponse response = co_await client.response();
    EXPECT_EQ(response.status, shape.status) << shape.what << ": " << response.head << response.body;
    EXPECT_TRUE(response.has("Connection: close\r\n")) << shape.what;
    EXPECT_TRUE(co_await client.ended()) << shape.what;
  }
}

CO_TEST(HttpConnection, RefusesBrokenChunksAndCloses, Served<answer_with_target>& server) {
  const std::vector<std::string> bodies{"+3\r\nabc\r\n0\r\n\r\n",
                                        "-3\r\nabc\r\n0\r\n\r\n",
                                        "0x3\r\nabc\r\n0\r\n\r\n",
                                        " 3\r\nabc\r\n0\r\n\r\n",
                                        "3 \r\nabc\r\n0\r\n\r\n",
                                        "3\nabc\r\n0\r\n\r\n",
                                        "3\r\nabc\n0\r\n\r\n",
                                        "3\r\nabcd\r\n0\r\n\r\n",
                                        "g\r\nabc\r\n0\r\n\r\n",
                                        "\r\n0\r\n\r\n",
                                        "3;a\nb\r\nabc\r\n0\r\n\r\n",
                                        "10000000000000003\r\nabc\r\n0\r\n\r\n",
                                        "3\r\nabc\r\n0\r\nno colon\r\n\r\n",
                                        "3\r\nabc\r\n0\r\nA : b\r\n\r\n",
                                        "3\r\rabc\r\n0\r\n\r\n",
                                        "3;" + std::string(400, 'x') + "\r\nabc\r\n0\r\n\r\n",
                                        "3\r\nabc\r\n0\r\nA: " + std::string(9000, 'x') + "\r\n\r\n"};
  for (const std::string& body : bodies) {
    RawClient client = co_await test::dial(executor, server.address);
    EXPECT_TRUE(co_await client.send("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + body +
                                     "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"));
    const RawResponse response = co_await client.response();
    EXPECT_EQ(response.status, 400u) << body;
    EXPECT_TRUE(response.has("Connection: close\r\n")) << body;
    EXPECT_TRUE(co_await client.ended()) << body;
  }
}

CO_TEST(HttpConnection, TakesUnusualButValidForms, Served<answer_with_target>& server) {
  struct Case {
    std::string bytes;
    std::string body;
  };
  const std::vector<Case> cases{
      {"GET http://x/abs?q HTTP/1.1\r\nHost: X\r\n\r\n", "GET http://x/abs?q []"},
      {"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", "OPTIONS * []"},
      {"\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n", "GET / []"},
      {"FROB /x HTTP/1.1\r\nHost:x\r\nA:\t b \t\r\n\r\n", "FROB /x []"},
      {"POST / HTTP/1.1\r\nhost: x\r\nTRANSFER-ENCODING: Chunked\r\n\r\n0003\r\nabc\r\n000\r\n\r\n", "POST / [abc]"},
      {"GET / HTTP/1.1\r\nHost: x\r\nA: caf\xc3\xa9\r\n\r\n", "GET / []"},
      {"GET / HTTP/1.1\r\nHost: \r\n\r\n", "GET / []"},
      {"GET / HTTP/1.1\r\nHost: [::1]:7070\r\n\r\n", "GET / []"},
  };
  for (const Case& one : cases) {
    RawClient client = co_await test::dial(executor, server.address);
    EXPECT_TRUE(co_await client.send(one.bytes));
    const RawResponse response = co_await client.response();
    EXPECT_EQ(response.status, 200u) << one.bytes << response.head << response.body;
    EXPECT_EQ(response.body, one.body) << one.bytes;
  }
}

CO_TEST(HttpConnection, LimitsHeaderAndTarget, Served<answer_with_target>& server) {
  RawClient long_target = co_await test::dial(executor, server.address);
  EXPECT_TRUE(co_await long_target.send("GET /" + std::string(9000, 'a') + " HTTP/1.1\r\nHost: x\r\n\r\n"));
  EXPECT_EQ((co_await long_target.response()).status, 414u);
  EXPECT_TRUE(co_await long_target.ended());

  RawClient endless_target = co_await test::dial(executor, server.address);
  EXPECT_TRUE(co_await endless_target.send("GET /" + std::string(9000, 'a')));
  EXPECT_EQ((co_await endless_target.response()).status, 414u);

  RawClient long_header = co_await test::dial(executor, server.address);
  EXPECT_TRUE(co_await long_header.send("GET / HTTP/1.1\r\nHost: x\r\nA: " + std::string(40'000, 'a')));
  EXPECT_EQ((co_await long_header.response()).status, 431u);
  EXPECT_TRUE(co_await long_header.ended());

  RawClient just_fits = co_await test::dial(executor, server.address);
  EXPECT_TRUE(co_await just_fits.send("GET / HTTP/1.1\r\nHost: x\r\nA: " + std::string(32'000, 'a') + "\r\n\r\n"));
  EXPECT_EQ((co_await just_fits.response()).status, 200u);
}

CO_TEST(HttpConnection, EndsAHeaderThatIsTooSlow) {
  TestServer server{executor, answer_with_target, {.header_time = 50ms}};
  RawClient client = co_await test::dial(executor, server.address);
  EXPECT_TRUE(co_await client.send("GET / HTTP/1.1\r\nHost:"));
  const RawResponse response = co_await client.response();
  EXPECT_EQ(response.status, 408u);
  EXPECT_TRUE(co_await client.ended());
  co_await server.server.stop();
}

CO_TEST(HttpConnection, ClosesAConnectionThatSaysNothingWithoutAWord) {
  TestServer server{executor, answer_with_target, {.header_time = 50ms}};
  RawClient client = co_await test::dial(executor, server.address);
  EXPECT_EQ(co_await client.read_all(), "");
  co_await server.server.stop();
}

CO_TEST(HttpConnection, ClosesAnIdleKeptConnectionWithoutAWord) {
  TestServer server{executor, answer_with_target, {.keep_alive_time = 50ms}};
  RawClient client = co_await test::dial(executor, server.address);
  EXPECT_TRUE(co_await client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
  EXPECT_EQ((co_await client.response()).status, 200u);
  EXPECT_TRUE(co_await client.ended());
  co_await server.server.stop();
}

Task<> authenticate_friends(HttpExchange& exchange) {
  if (exchange.request().target.path == "/friend") EXPECT_TRUE(exchange.mark_authenticated().has_value());
  co_await answer_with_target(exchange);
}

CO_TEST(HttpConnection, ClosesAnUnauthenticatedIdleConnectionSooner) {
  TestServer server{executor, authenticate_friends, {.keep_alive_time = kForever, .stranger_idle_time = 50ms}};
  RawClient known = co_await test::dial(executor, server.address);
  EXPECT_TRUE(co_await known.send("GET /friend HTTP/1.1\r\nHost: x\r\n\r\n"));
  EXPECT_EQ((co_await known.response()).status, 200u);
  RawClient stranger = co_await test::dial(executor, server.address);
  EXPECT_TRUE(co_await stranger.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
  EXPECT_EQ((co_await stranger.response()).status, 200u);
  EXPECT_TRUE(co_await stranger.ended());
  // The connection stays authenticated, also after an answer that needed no credential.
  EXPECT_TRUE(co_await known.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
  EXPECT_EQ((co_await known.response()).status, 200u);
  EXPECT_TRUE(co_await known.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
  EXPECT_EQ((co_await known.response()).status, 200u);
  co_await server.server.stop();
}

/// Sends single bytes until the connection ends.
Task<> trickle(test::RawClient* client) {
  while (co_await client->send("x")) {
    boost::asio::basic_waitable_timer<std::chrono::steady_clock, boost::asio::wait_traits<std::chrono::steady_clock>,
                                      Executor>
        pause{client->stream().executor(), 5ms};
    co_await pause.async_wait(use_task);
  }
}

CO_TEST(HttpConnection, EndsABodyThatNobodyReadsHoweverItTrickles) {
  TestServer server{executor, ignore_body, {.drain_time = 100ms}};
  RawClient client = co_await test::dial(executor, server.address);
  EXPECT_TRUE(co_await client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n"));
  EXPECT_EQ((co_await client.response()).body, "ignored");
  EXPECT_TRUE(co_await run_beside(trickle(&client), client.ended()));
  co_await server.server.stop();
}

CO_TEST(HttpConnection, EndsABodyThatIsTooSlow) {
  TestServer server{executor, answer_with_target, {.body_idle_time = 50ms}};
  RawClient client = co_await test::dial(executor, server.address);
  EXPECT_TRUE(co_await client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc"));
  const RawResponse response = co_await client.response();
  EXPECT_EQ(response.status, 408u);
  EXPECT_TRUE(response.has("Connection: close\r\n"));
  EXPECT_TRUE(co_await client.ended());
  co_await server.server.stop();
}

CO_TEST(HttpConnection, SpeaksHttp10, Served<answer_with_target>& server) {
  RawClient closing = co_await test::dial(executor, server.address);
  EXPECT_TRUE(co_await closing.send("GET /old HTTP/1.0\r\n\r\n"));
  RawResponse response = co_await closing.response();
  EXPECT_EQ(response.body, "GET /old []");
  EXPECT_TRUE(response.has("Connection: close\r\n"));
  EXPECT_TRUE(co_await closing.ended());

  RawClient kept = co_await test::dial(executor, server.address);
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(co_await kept.send("GET /old HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n"));
    response = co_await kept.response();
    EXPECT_EQ(response.status, 200u);
    EXPECT_TRUE(response.has("Connection: keep-alive\r\n"));
  }
}

CO_TEST(HttpConnection, ClosesWhenTheClientAsksForIt, Served<answer_with_target>& server) {
  RawClient client = co_await test::dial(executor, server.address);
  EXPECT_TRUE(co_await client.send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
  const RawResponse response = co_await client.response();
  EXPECT_EQ(response.status, 200u);
  EXPECT_TRUE(response.has("Connection: close\r\n"));
  EXPECT_TRUE(co_await client.ended());
}

CO_TEST(HttpConnection, AnswersAClientThatHasEndedItsDirection, Served<answer_with_target>& server) {
  RawClient client = co_await test::dial(executor, server.address);
  EXPECT_TRUE(co_await client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi"));
  client.stream().shutdown_write();
  EXPECT_EQ((co_await client.response()).body, "POST / [hi]");
  EXPECT_TRUE(co_await client.ended());
}

CO_TEST(HttpConnection, SkipsASmallBodyThatNobodyReadAndGoesOn, Served<ignore_body>& server) {
  RawClient client = co_await test::dial(executor, server.address);
  EXPECT_TRUE(co_await client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n"));
  EXPECT_EQ((co_await client.response()).body, "ignored");
  EXPECT_TRUE(co_await client.send(std::string(100'000, 'b') + "GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
  EXPECT_EQ((co_await client.response()).body, "ignored");
}

CO_TEST(HttpConnection, LetsTheClientReadTheAnswerToATooLargeBody, Served<ignore_body>& server) {
  for (const std::string_view framing : {"Content-Length: 4000000", "Transfer-Encoding: chunked"}) {
    RawClient client = co_await test::dial(executor, server.address);
    EXPECT_TRUE(co_await client.send("POST / HTTP/1.1\r\nHost: x\r\n" + std::string{framing} + "\r\n\r\n"));
    // 4,000,000 bytes in chunks of 100 are more than the server skips to keep the connection.
    std::string body;
    for (int i = 0; i < 40'000; ++i) body += "64\r\n" + std::string(96, 'x') + "abcd\r\n";
    EXPECT_TRUE(co_await client.send(body));
    const RawResponse response = co_await client.response();
    EXPECT_EQ(response.status, 200u) << framing;
    EXPECT_EQ(response.body, "ignored") << framing;
    EXPECT_TRUE(co_await client.ended()) << framing;
  }
}

Task<> big_answer(HttpExchange& exchange) {
  const std::string block(1024 * 1024, 'b');
  auto sent = co_await exchange.start({.status = 200});
  while (sent) sent = co_await exchange.write(block);
  EXPECT_EQ(sent.error().code, Errc::timeout);
}

CO_TEST(HttpConnection, GivesUpOnAClientThatDoesNotRead) {
  TestServer server{executor, big_answer, {.write_stall_time = 100ms}};
  RawClient client = co_await test::dial(executor, server.address);
  EXPECT_TRUE(co_await client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
  // Read nothing until the server has given up and reset the connection.
  auto broken = co_await client.stream().broken();
  EXPECT_TRUE(broken.has_value());
  co_await server.server.stop();
}

CO_TEST(HttpConnection, SurvivesClientsThatVanish, Served<answer_with_target>& server) {
  for (const std::string_view bytes :
       {"", "GET / HT", "GET / HTTP/1.1\r\nHost: x\r\n", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc",
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab"}) {
    for (const bool reset : {false, true}) {
      RawClient client = co_await test::dial(executor, server.address);
      if (!bytes.empty()) EXPECT_TRUE(co_await client.send(std::string{bytes}));
      const ::linger at_once{.l_onoff = reset ? 1 : 0, .l_linger = 0};
      ::setsockopt(client.stream().fd(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
      client.stream().close();
    }
  }
  RawClient client = co_await test::dial(executor, server.address);
  EXPECT_TRUE(co_await client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
  EXPECT_EQ((co_await client.response()).status, 200u);
}

}  // namespace
}  // namespace skiff::protocol
