#include "container/serve/gateway/kept_connections.hpp"

#include <fcntl.h>
#include <sys/socket.h>

#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "tests/container/kube/canned_server.hpp"
#include "tests/container/serve/gateway/gateway_scene.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container::serve {
namespace {

using namespace std::chrono_literals;
using test::CannedServer;

/// Both ends of a connection.
struct SocketEnds {
  explicit SocketEnds(Executor executor) {
    std::array<int, 2> sockets{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, sockets.data()), 0);
    ours = protocol::Stream{executor, UniqueFd{sockets[0]}, "ours"};
    theirs = protocol::Stream{executor, UniqueFd{sockets[1]}, "theirs"};
  }
  KeptConnections::Connection connection() { return {std::move(ours), std::chrono::steady_clock::now()}; }
  protocol::Stream ours;
  protocol::Stream theirs;
};

const KeptConnections::Key kOfBox{.tenant = "a", .sandbox = "box", .run = "1", .port = 80};

CO_TEST(KeptConnections, GoToTheSamePlaceAndToOneAlone) {
  KeptConnections kept{executor, {}};
  SocketEnds ends{executor};
  const int fd = ends.ours.fd();
  kept.keep(kOfBox, ends.connection());
  for (const KeptConnections::Key& elsewhere :
       {KeptConnections::Key{.tenant = "b", .sandbox = "box", .run = "1", .port = 80},
        KeptConnections::Key{.tenant = "a", .sandbox = "bo", .run = "1", .port = 80},
        KeptConnections::Key{.tenant = "a", .sandbox = "box", .run = "2", .port = 80},
        KeptConnections::Key{.tenant = "a", .sandbox = "box", .run = "1", .port = 81}}) {
    EXPECT_FALSE(kept.take(elsewhere).has_value()) << elsewhere.tenant << elsewhere.sandbox << elsewhere.run;
  }
  auto taken = kept.take(kOfBox);
  CO_ASSERT_TRUE(taken.has_value());
  EXPECT_EQ(taken->stream.fd(), fd);
  EXPECT_FALSE(kept.take(kOfBox).has_value());
  co_return;
}

CO_TEST(KeptConnections, LeavesOutWhatHasEndedOrSpeaksUnasked) {
  KeptConnections kept{executor, {}};
  SocketEnds good{executor};
  SocketEnds ended{executor};
  SocketEnds talks{executor};
  const int fd = good.ours.fd();
  for (SocketEnds* ends : {&good, &ended, &talks}) kept.keep(kOfBox, ends->connection());
  ended.theirs.close();
  const std::array<std::string_view, 1> answer{"HTTP/1.1 200 OK\r\n\r\n"};
  CO_ASSERT_TRUE((co_await talks.theirs.write(answer)).has_value());
  auto taken = kept.take(kOfBox);
  CO_ASSERT_TRUE(taken.has_value());
  EXPECT_EQ(taken->stream.fd(), fd);
  EXPECT_EQ(kept.size(), 0u) << "the others are closed";
}

CO_TEST(KeptConnections, AreNotMoreThanTheirLimits) {
  KeptConnections kept{executor, {.each = 2, .all = 3}};
  std::vector<SocketEnds> all;
  for (int i = 0; i < 5; ++i) all.emplace_back(executor);
  for (int i = 0; i < 3; ++i) kept.keep(kOfBox, all[static_cast<std::size_t>(i)].connection());
  EXPECT_EQ(kept.size(), 2u);
  for (int i = 3; i < 5; ++i) {
    KeptConnections::Key there = kOfBox;
    there.port = static_cast<std::uint16_t>(i);
    kept.keep(there, all[static_cast<std::size_t>(i)].connection());
  }
  EXPECT_EQ(kept.size(), 3u);
  EXPECT_TRUE(kept.take(kOfBox).has_value());
  EXPECT_FALSE(kept.take(kOfBox).has_value()) << "the one that was unused for longest made room";
  co_return;
}

CO_TEST(KeptConnections, AreClosedWhenNobodyComes) {
  KeptConnections kept{executor, {.idle = 5ms}};
  SocketEnds ends{executor};
  kept.keep(kOfBox, ends.connection());
  std::array<char, 1> end{};
  auto got = co_await ends.theirs.read_some(end);
  CO_ASSERT_TRUE(got.has_value());
  EXPECT_EQ(*got, 0u);
  EXPECT_EQ(kept.size(), 0u);
}

CO_TEST(KeptConnections, AreNotKeptForEver) {
  KeptConnections kept{executor, {.age = 1h}};
  SocketEnds ends{executor};
  auto connection = ends.connection();
  connection.made -= 2h;
  kept.keep(kOfBox, std::move(connection));
  EXPECT_EQ(kept.size(), 0u);
  co_return;
}

// --- with the gateway ---

CannedServer::Answer canned_ok(std::string body, bool then_close = false) {
  return {"HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body, then_close};
}

/// A gateway before an agent whose bytes are written down.
struct BytesScene {
  BytesScene(Executor executor, std::deque<CannedServer::Answer> answers)
      : agent{executor, std::move(answers)}, scene{executor} {
    scene.sandboxes.port = agent.access().server.port;
  }
  static Task<std::string> ask(BytesScene* self, std::string line, std::string body = {}) {
    auto got = co_await GatewayScene::ask(&self->scene, std::move(line), kServerHost, std::move(body));
    co_return std::move(got.body);
  }
  Task<> stop() {
    co_await scene.stop();
    co_await agent.stop();
  }
  CannedServer agent;
  GatewayScene scene;
};

CO_TEST(KeptConnections, CarryOneRequestAfterTheOther) {
  BytesScene all{executor, {canned_ok("one"), canned_ok("two"), canned_ok("three")}};
  EXPECT_EQ(co_await BytesScene::ask(&all, "GET /"), "one");
  EXPECT_EQ(co_await BytesScene::ask(&all, "POST /", "body"), "two");
  EXPECT_EQ(co_await BytesScene::ask(&all, "GET /"), "three");
  EXPECT_EQ(all.agent.connections(), 1);
  for (const std::string& request : all.agent.requests()) EXPECT_FALSE(request.contains("close")) << request;
  EXPECT_EQ(all.scene.sandboxes.looks, (std::vector<Look>{Look::anew, Look::known, Look::known}))
      << "who connects looks anew";
  co_await all.stop();
}

CO_TEST(KeptConnections, AreNotSharedWithAnotherPortTenantOrRun) {
  BytesScene all{executor, {canned_ok("1"), canned_ok("2"), canned_ok("3"), canned_ok("4")}};
  EXPECT_EQ(co_await BytesScene::ask(&all, "GET /"), "1");
  all.scene.sandboxes.run = "second";
  EXPECT_EQ(co_await BytesScene::ask(&all, "GET /"), "2");
  all.scene.permission.tenant = "another";
  EXPECT_EQ(co_await BytesScene::ask(&all, "GET /"), "3");
  const auto other = co_await GatewayScene::ask(&all.scene, "GET /", "Host: 3001-box.boxes.localhost\r\n", "");
  EXPECT_EQ(other.body, "4");
  EXPECT_EQ(all.agent.connections(), 4);
  co_await all.stop();
}

CO_TEST(KeptConnections, AreNoErrorWhenTheyHaveEnded) {
  BytesScene all{executor, {canned_ok("one", true), canned_ok("two", true), canned_ok("three")}};
  EXPECT_EQ(co_await BytesScene::ask(&all, "GET /"), "one");
  EXPECT_EQ(co_await BytesScene::ask(&all, "POST /", "body"), "two");
  EXPECT_EQ(co_await BytesScene::ask(&all, "POST /", "body"), "three");
  EXPECT_EQ(all.agent.requests().size(), 3u);
  co_await all.stop();
}

CO_TEST(KeptConnections, LoseNoRequestThatMayBeRepeated) {
  for (const char* line : {"GET /", "HEAD /", "DELETE /", "OPTIONS /"}) {
    BytesScene all{executor, {canned_ok("one"), {"", true}, canned_ok("two")}};
    EXPECT_EQ(co_await BytesScene::ask(&all, "GET /"), "one");
    co_await BytesScene::ask(&all, line);
    EXPECT_EQ(all.scene.outcome, "passed") << line;
    EXPECT_EQ(all.agent.requests().size(), 3u) << line;
    EXPECT_EQ(all.agent.connections(), 2) << line;
    co_await all.stop();
  }
}

CO_TEST(KeptConnections, SendNothingTwiceThatMayHaveBeenActedOn) {
  struct Case {
    const char* line;
    const char* body;
    const char* bytes;
  };
  for (const auto& [line, body, bytes] : {Case{"POST /", "", ""}, Case{"POST /", "body", ""}, Case{"PATCH /", "", ""},
                                          Case{"PUT /", "body", ""}, Case{"GET /", "", "HTTP/1.1 2"}}) {
    BytesScene all{executor, {canned_ok("one"), {bytes, true}, canned_ok("never")}};
    EXPECT_EQ(co_await BytesScene::ask(&all, "GET /"), "one");
    EXPECT_EQ(co_await BytesScene::ask(&all, line, body), "bad_gateway") << line << bytes;
    EXPECT_EQ(all.agent.requests().size(), 2u) << line << bytes;
    co_await all.stop();
  }
  // A request that was lost on its own connection is not sent again either.
  BytesScene all{executor, {{"", true}, canned_ok("never")}};
  EXPECT_EQ(co_await BytesScene::ask(&all, "GET /"), "bad_gateway");
  EXPECT_EQ(all.agent.requests().size(), 1u);
  co_await all.stop();
}

CO_TEST(KeptConnections, CarryNoAnswerThatNobodyHasAskedFor) {
  auto forged = canned_ok("one");
  forged.bytes += canned_ok("forged").bytes;
  BytesScene all{executor, {forged, canned_ok("two")}};
  EXPECT_EQ(co_await BytesScene::ask(&all, "GET /"), "one");
  EXPECT_EQ(all.scene.gateway.kept(), 0u);
  EXPECT_EQ(co_await BytesScene::ask(&all, "GET /"), "two");
  co_await all.stop();
}

}  // namespace
}  // namespace skiff::container::serve
