#include "protocol/http/server/relay.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <boost/asio/post.hpp>

#include "base/async/event.hpp"
#include "base/async/task_group.hpp"
#include "protocol/net/listener.hpp"
#include "tests/protocol/http/raw_client.hpp"
#include "tests/support/reactor_test.hpp"

/// Tests bodies of any size to another server and back: whole, truncated, held up and abandoned.
namespace skiff::protocol {
namespace {

using namespace std::chrono_literals;
using test::RawClient;

constexpr std::size_t kMiB = std::size_t{1} << 20U;
/// More bytes than the buffers of all sockets on the way hold for a client that reads nothing.
constexpr std::size_t kMuch = 32 * kMiB;

/// A body of which no two pieces are equal.
std::string body_of(std::size_t size) {
  std::string body(size, ' ');
  std::size_t word = 0;
  for (std::size_t at = 0; at < size; ++at) {
    if (at % 8 == 0) word = at * std::size_t{0x9E3779B97F4A7C15};
    body[at] = static_cast<char>('a' + (word >> (at % 8 * 8)) % 16);
  }
  return body;
}

/// A client, a relay, and a server whose target selects its answer: /length/BYTES, /chunks/BYTES, /cut/BYTES,
/// /status/CODE, /upload/BYTES.
struct RelayScene {
  explicit RelayScene(Executor executor_in, std::size_t most_large = 8)
      : executor{executor_in},
        large{most_large},
        most{most_large},
        changed{executor},
        server{executor, [this](HttpExchange& http) { return give(this, http); }},
        front{executor, [this](HttpExchange& http) { return pass(this, http); }} {
    port = server.address.port();
  }

  static Task<> pass(RelayScene* self, HttpExchange& http) {
    HttpClient client{self->executor, {.host = "127.0.0.1", .port = self->port, .read_idle_time = kForever}};
    HttpClient::Request request{.method = http.request().method, .target = http.request().target_text};
    auto passed =
        co_await relay(&http, &client, std::move(request), {.large_blocks = &self->large, .filter = self->filter});
    self->in_order = passed && client.connected();
  }
  static Task<> give(RelayScene* self, HttpExchange& http) {
    const std::string_view target = http.request().target_text;
    const std::string_view number = target.substr(target.rfind('/') + 1);
    std::size_t size = 0;
    std::from_chars(number.data(), number.data() + number.size(), size);
    if (target.contains("/status/")) {
      (void)co_await http.respond({.status = static_cast<unsigned>(size), .headers = {{"X-Own", "1"}}, .body = {}});
    } else if (target.contains("/upload/")) {
      auto came = co_await http.read_body(kMuch);
      (void)co_await http.respond({.body = came && *came == body_of(size) ? "whole" : "another"});
    } else {
      co_await send(self, &http, target.contains("/chunks/"), target.contains("/cut/"), size);
    }
  }
  static Task<> send(RelayScene* self, HttpExchange* http, bool in_chunks, bool cut, std::size_t size) {
    std::optional<std::uint64_t> length{size};
    if (in_chunks) length.reset();
    (void)co_await http->start({.headers = {{"Trailer", "X-Sum"}}}, length);
    const std::string body = body_of(size);
    const std::string_view given = std::string_view{body}.substr(0, cut ? size / 2 : size);
    const auto sent = co_await http->write(given);
    if (!sent) {
      ++self->left;
      self->changed.notify_all();
    } else if (!cut) {
      (void)co_await http->finish(in_chunks ? Headers{{"X-Sum", "right"}} : Headers{});
    }
  }
  Task<> stop() {
    co_await front.stop();
    co_await server.stop();
  }

  /// Sends a request, reads the whole answer, and closes.
  static Task<test::RawResponse> ask(RelayScene* self, std::string line, std::string body = {}) {
    RawClient client = co_await test::dial(self->executor, self->front.address);
    std::string request = line + " HTTP/1.1\r\nHost: a\r\nConnection: close\r\n";
    if (!body.empty()) request += "Content-Length: " + std::to_string(body.size()) + "\r\n";
    EXPECT_TRUE(co_await client.send(request + "\r\n" + body));
    co_return co_await client.response();
  }
  /// A client that has requested a body and reads none of it, so that a large block waits.
  static Task<RawClient> held_up(RelayScene* self) {
    RawClient client = co_await test::dial(self->executor, self->front.address);
    EXPECT_TRUE(co_await client.send("GET /length/" + std::to_string(kMuch) +
                                     " HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"));
    while (self->large.left() == self->most) co_await test::pause(1ms);
    co_return client;
  }

  Executor executor;
  LargeBlocks large;
  std::size_t most;
  Event changed;
  AnswerFilter* filter = nullptr;
  std::uint16_t port = 0;  ///< of the server
  int left = 0;            ///< answers that the client abandoned
  bool in_order = true;    ///< whether the connection to the server is reusable after the last answer
  test::TestServer server;
  test::TestServer front;
};

CO_TEST(Relay, CarriesBodiesHoweverTheyAreFramed, RelayScene& on) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, 64 * kMiB / 1024, LargeBlocks::kBytes - 1,
                                 LargeBlocks::kBytes, LargeBlocks::kBytes + 1, 5 * kMiB + 3}) {
    const std::string wanted = body_of(size);
    const auto counted = co_await RelayScene::ask(&on, "GET /length/" + std::to_string(size));
    EXPECT_TRUE(counted.body == wanted && !counted.cut) << size;
    EXPECT_TRUE(counted.has("Content-Length: " + std::to_string(size) + "\r\n")) << counted.head;
    const auto chunked = co_await RelayScene::ask(&on, "GET /chunks/" + std::to_string(size));
    EXPECT_TRUE(chunked.body == wanted && !chunked.cut) << size;
    EXPECT_TRUE(chunked.has("Transfer-Encoding: chunked\r\n")) << chunked.head;
    EXPECT_EQ(chunked.trailers, "X-Sum: right\r\n");
    const auto stored = co_await RelayScene::ask(&on, "PUT /upload/" + std::to_string(size), wanted);
    EXPECT_EQ(stored.body, "whole") << size;
  }
  EXPECT_EQ(on.large.left(), on.most);
}

CO_TEST(Relay, KeepsTheConnectionInOrderWhereThereIsNoBody, RelayScene& on) {
  RawClient client = co_await test::dial(executor, on.front.address);
  for (const char* line : {"HEAD /length/3000000", "GET /status/204", "HEAD /status/204", "GET /status/304"}) {
    EXPECT_TRUE(co_await client.send(std::string{line} + " HTTP/1.1\r\nHost: a\r\n\r\n"));
    const auto answer = co_await client.response(std::string_view{line}.starts_with("HEAD"));
    EXPECT_TRUE(answer.status == 200 || answer.status == 204 || answer.status == 304) << answer.head;
    EXPECT_EQ(answer.has("Content-Length: 3000000\r\n"), answer.status == 200) << answer.head;
  }
  EXPECT_TRUE(co_await client.send("GET /length/7 HTTP/1.1\r\nHost: a\r\n\r\n"));
  const auto answer = co_await client.response();
  EXPECT_EQ(answer.body, body_of(7));
}

CO_TEST(Relay, TruncatesATruncatedAnswer, RelayScene& on) {
  for (const char* framed : {"/cut/6000000", "/cut/chunks/6000000"}) {
    const auto answer = co_await RelayScene::ask(&on, std::string{"GET "} + framed);
    EXPECT_EQ(answer.status, 200u);
    EXPECT_TRUE(answer.cut) << framed;
    EXPECT_LE(answer.body.size(), 3'000'000u);
    EXPECT_TRUE(body_of(6'000'000).starts_with(answer.body));
    EXPECT_FALSE(on.in_order) << "nobody knows what comes next";
  }
  EXPECT_EQ(on.large.left(), on.most);
}

CO_TEST(Relay, WaitsForAClientThatIsSlow, RelayScene& on) {
  RawClient client = co_await RelayScene::held_up(&on);
  EXPECT_EQ(on.large.left(), on.most - 1);
  const auto answer = co_await client.response();
  EXPECT_TRUE(answer.body == body_of(kMuch) && !answer.cut);
  EXPECT_EQ(on.left, 0);
  EXPECT_TRUE(co_await client.ended());
  EXPECT_EQ(on.large.left(), on.most);
}

CO_TEST(Relay, EndsWithAClientThatLeaves, RelayScene& on) {
  {
    RawClient client = co_await RelayScene::held_up(&on);
    EXPECT_EQ((co_await client.read_bytes(kMiB)).size(), kMiB);
  }
  while (on.left == 0) co_await on.changed.wait();
  while (on.large.left() < on.most || on.in_order) co_await test::pause(1ms);
}

/// Counts the pieces that pass while nobody else has the reactor.
class Pieces final : public AnswerFilter {
 public:
  Result<> judge(const HttpResponseHead&) override { return {}; }
  void change(Headers&) override {}
  std::string_view pass(std::string_view bytes) override {
    most = std::max(most, ++in_a_row);
    return bytes;
  }
  std::string_view rest() override { return {}; }

  std::size_t in_a_row = 0;
  std::size_t most = 0;
};

CO_TEST(Relay, LeavesTurnsToOthersBetweenTheSmallestPieces, RelayScene& on) {
  constexpr std::size_t kPieces = 20'000;
  auto tiny = Listener::open(executor, Address::parse("127.0.0.1:0").value()).value();
  on.port = tiny->address().port();
  Pieces pieces;
  on.filter = &pieces;
  bool is_over = false;
  TaskGroup others{executor};
  others.spawn("others", [](Executor turn, Pieces* count, const bool* end) -> Task<> {
    while (!*end) {
      count->in_a_row = 0;
      co_await boost::asio::post(turn, use_task);
    }
  }(executor, &pieces, &is_over));
  others.spawn("server", tiny->accept_all([&others, executor = executor](UniqueFd socket, const Address&) {
    others.spawn("answer", [](Stream client) -> Task<> {
      std::string text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
      for (std::size_t i = 0; i < kPieces; ++i) text += "1\r\nx\r\n";
      text += "0\r\n\r\n";
      const std::array<std::string_view, 1> parts{text};
      (void)co_await client.write(parts, 5s);
    }(Stream{executor, std::move(socket), "relay"}));
  }));
  const auto answer = co_await RelayScene::ask(&on, "GET /");
  EXPECT_EQ(answer.body.size(), kPieces);
  is_over = true;
  tiny->close();
  co_await others.join();
  EXPECT_LE(pieces.most, 257U);
}

struct OneLargeBlock : RelayScene {
  explicit OneLargeBlock(Executor executor_in) : RelayScene{executor_in, 1} {}
};

CO_TEST(Relay, SharesTheLargeBlocksThatThereAre, OneLargeBlock& on) {
  RawClient held = co_await RelayScene::held_up(&on);
  EXPECT_EQ(on.large.left(), 0u);
  const auto other = co_await RelayScene::ask(&on, "GET /length/5000000");
  EXPECT_TRUE(other.body == body_of(5'000'000)) << "in small ones";
  held.stream().close();
  while (on.large.left() == 0) co_await test::pause(1ms);
}

}  // namespace
}  // namespace skiff::protocol
