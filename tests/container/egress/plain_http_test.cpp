#include "container/egress/plain_http.hpp"

#include <gtest/gtest.h>

#include <sys/socket.h>

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/async/task_group.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container::egress {
namespace {

using namespace std::chrono_literals;
using protocol::Stream;

std::pair<Stream, Stream> pair(Executor executor) {
  std::array<int, 2> sockets{};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, sockets.data()), 0);
  return {Stream{executor, UniqueFd{sockets[0]}, "one"}, Stream{executor, UniqueFd{sockets[1]}, "other"}};
}

Task<> send(Stream* stream, std::string_view text) {
  const std::array<std::string_view, 1> parts{text};
  (void)co_await stream->write(parts);
}

/// Reads up to the end, or to this text.
Task<std::string> read_to(Stream* stream, std::string_view end = {}) {
  std::string all;
  std::array<char, 1000> block{};
  while (end.empty() || !all.contains(end)) {
    auto got = co_await stream->read_some(block, 20s);
    if (!got || *got == 0) break;
    all.append(block.data(), *got);
  }
  co_return all;
}

/// A client, and servers that answer with `answer` when they have read `until`.
struct Fixture {
  explicit Fixture(Executor on) : executor{on}, tasks{on} {}

  static Task<> answer_one(Fixture* self, Stream server) {
    self->seen.push_back(co_await read_to(&server, self->until));
    co_await send(&server, self->answer);
  }
  static Task<std::expected<Stream, Refusal>> reach(Fixture* self, Target target) {
    self->reached.push_back(target.text());
    if (target.host == "evil.org") co_return std::unexpected{Refusal{403, "not_allowed", "no"}};
    auto [near, far] = pair(self->executor);
    self->tasks.spawn("server", answer_one(self, std::move(far)));
    co_return std::move(near);
  }
  /// Sends this as a client, ends, and returns all that comes back.
  static Task<std::string> say(Fixture* self, std::string text) {
    auto [client, inside] = pair(self->executor);
    self->tasks.spawn("proxy",
                      serve_plain_http(std::move(inside), std::move(text),
                                       {.reach = [self](Target target) { return reach(self, std::move(target)); },
                                        .refused = [self](const Refusal& one) { self->refused.emplace_back(one.code); },
                                        .is_over = [] {},
                                        .tunnel = self->tunnel}));
    co_return co_await read_to(&client);
  }
  Task<> stop() {
    tasks.cancel();
    co_await tasks.join();
  }

  Executor executor;
  std::optional<Target> tunnel = {};
  std::string until = "\r\n\r\n";
  std::string answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";
  std::vector<std::string> seen;
  std::vector<std::string> reached;
  std::vector<std::string> refused;
  TaskGroup tasks;
};

CO_TEST(PlainHttp, FramesARequestAnew, Fixture& on) {
  const std::string said = co_await Fixture::say(
      &on,
      "GET http://deb.debian.org/a%2Fb?c HTTP/1.1\r\nHost: deb.debian.org\r\nProxy-Connection: keep-alive\r\n"
      "Proxy-Authorization: Basic eA==\r\nProxy-Foo: 1\r\nConnection: close, X-Mine\r\nX-Mine: 1\r\nUpgrade: "
      "websocket\r\nAccept: */*\r\nX-Forwarded-For: 1.2.3.4\r\n\r\n");
  EXPECT_TRUE(said.starts_with("HTTP/1.1 200 OK\r\n")) << said;
  EXPECT_TRUE(said.ends_with("\r\n\r\nhi")) << said;
  CO_ASSERT_TRUE(on.seen.size() == 1);
  EXPECT_EQ(on.reached.at(0), "deb.debian.org:80");
  EXPECT_EQ(on.seen.at(0),
            "GET /a%2Fb?c HTTP/1.1\r\nHost: deb.debian.org\r\nAccept: */*\r\nVia: 1.1 skiff-egress\r\nConnection: "
            "close\r\n\r\n");
}

CO_TEST(PlainHttp, JudgesEachRequestOfAConnection, Fixture& on) {
  const std::string said = co_await Fixture::say(&on,
                                                 "GET http://a.org:8080/ HTTP/1.1\r\nHost: a.org:8080\r\n\r\n"
                                                 "GET http://evil.org/ HTTP/1.1\r\nHost: evil.org\r\n\r\n"
                                                 "GET http://b.org/ HTTP/1.1\r\nHost: b.org\r\n\r\n");
  EXPECT_EQ(on.reached, (std::vector<std::string>{"a.org:8080", "evil.org:80"}));
  EXPECT_TRUE(said.contains("\r\nX-Skiff-Egress: not_allowed\r\n")) << said;
  EXPECT_EQ(on.refused, std::vector<std::string>{"not_allowed"});
}

CO_TEST(PlainHttp, TakesPathsInATunnel, Fixture& on) {
  on.tunnel = Target::plain("a.org:8080").value();
  const std::string said =
      co_await Fixture::say(&on, "GET /b?c HTTP/1.1\r\nHost: A.org:8080\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(said.starts_with("HTTP/1.1 200 OK\r\n")) << said;
  EXPECT_EQ(on.reached, std::vector<std::string>{"a.org:8080"});
  CO_ASSERT_TRUE(on.seen.size() == 1);
  EXPECT_TRUE(on.seen.at(0).starts_with("GET /b?c HTTP/1.1\r\nHost: a.org:8080\r\n")) << on.seen.at(0);
}

CO_TEST(PlainHttp, RefusesOtherHostsInATunnel, Fixture& on) {
  on.tunnel = Target::plain("a.org").value();
  const std::string get = "GET / HTTP/1.1\r\nHost: ";
  for (const std::string& other :
       {get + "evil.org\r\n\r\n", get + "a.org:8080\r\n\r\n", get + "\r\n\r\n", get + "1.2.3.4\r\n\r\n"}) {
    const std::string said = co_await Fixture::say(&on, other + get + "a.org\r\n\r\n");
    EXPECT_TRUE(said.starts_with("HTTP/1.1 421 ")) << other << said;
  }
  const std::string url = co_await Fixture::say(&on, "GET http://a.org/ HTTP/1.1\r\nHost: a.org\r\n\r\n");
  EXPECT_TRUE(url.contains("\r\nX-Skiff-Egress: bad_target\r\n")) << url;
  EXPECT_TRUE(on.reached.empty());
}

CO_TEST(PlainHttp, PassesABody, Fixture& on) {
  on.until = "0\r\n\r\n";
  const std::string said =
      co_await Fixture::say(&on,
                            "POST http://a.org/ HTTP/1.1\r\nHost: a.org\r\nTransfer-Encoding: chunked\r\nConnection: "
                            "close\r\n\r\n3;x=y\r\nabc\r\n0\r\n\r\n");
  EXPECT_TRUE(said.starts_with("HTTP/1.1 200")) << said;
  CO_ASSERT_TRUE(on.seen.size() == 1);
  EXPECT_TRUE(on.seen.at(0).ends_with("\r\n\r\n3\r\nabc\r\n0\r\n\r\n")) << on.seen.at(0);
  EXPECT_FALSE(on.seen.at(0).contains("x=y"));
}

CO_TEST(PlainHttp, RefusesWhatTwoReadersCouldReadDifferently, Fixture& on) {
  for (const std::string_view text : {
           "GET http://a.org/ HTTP/1.1\r\nHost: b.org\r\n\r\n",
           "GET http://a.org/ HTTP/1.1\r\nHost: a.org\r\nHost: a.org\r\n\r\n",
           "GET http://a.org/ HTTP/1.1\r\nHost : a.org\r\n\r\n",
           "GET http://a.org/ HTTP/1.1\r\nHost: a.org\r\nX: 1\r\n 2\r\n\r\n",
           "POST http://a.org/ HTTP/1.1\r\nHost: a.org\r\nContent-Length: 1\r\nTransfer-Encoding: "
           "chunked\r\n\r\n0\r\n\r\n",
           "POST http://a.org/ HTTP/1.1\r\nHost: a.org\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx",
           "POST http://a.org/ HTTP/1.1\r\nHost: a.org\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
           "GET http://x@a.org/ HTTP/1.1\r\nHost: a.org\r\n\r\n",
           "CONNECT a.org:443 HTTP/1.1\r\nHost: a.org:443\r\n\r\n",
           "GET / HTTP/1.1\r\nHost: a.org\r\n\r\n",
           "GET https://a.org/ HTTP/1.1\r\nHost: a.org\r\n\r\n",
           "GET http://11.7.7.7/ HTTP/1.1\r\nHost: 11.7.7.7\r\n\r\n",
       }) {
    const std::string said =
        co_await Fixture::say(&on, std::string{text} + "GET http://a.org/ HTTP/1.1\r\nHost: a.org\r\n\r\n");
    EXPECT_TRUE(said.starts_with("HTTP/1.1 400 ")) << text << said;
    EXPECT_EQ(said.find("HTTP/1.1 ", 1), std::string::npos) << text << said;
  }
  EXPECT_EQ(on.reached.size(), 0U);
  EXPECT_EQ(on.refused.size(), 12U);
}

CO_TEST(PlainHttp, AnswersForAServerThatDoesNot, Fixture& on) {
  on.answer = "no HTTP\r\n\r\n";
  const std::string said = co_await Fixture::say(&on, "GET http://a.org/ HTTP/1.1\r\nHost: a.org\r\n\r\n");
  EXPECT_TRUE(said.starts_with("HTTP/1.1 502 ")) << said;
  EXPECT_EQ(on.refused, std::vector<std::string>{"bad_answer"});
}

}  // namespace
}  // namespace skiff::container::egress
