#include "container/serve/gateway/gateway.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/async/event.hpp"
#include "tests/container/serve/gateway/gateway_scene.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container::serve {
namespace {

using namespace std::chrono_literals;
using protocol::HttpExchange;
using test::RawClient;

CO_TEST(Gateway, ReachesAServerThroughTheAgent) {
  GatewayScene scene{executor};
  const auto answer =
      co_await GatewayScene::ask(&scene, "POST /a%2Fb//c?d=%20&e", std::string{kServerHost} + "X-Own: 2\r\n", "body");
  EXPECT_EQ(answer.status, 201u);
  EXPECT_EQ(answer.body, "made");
  EXPECT_TRUE(answer.has("X-Own: 1\r\n"));
  CO_ASSERT_TRUE(scene.came.size() == 1);
  const CameToAgent& came = scene.came.front();
  EXPECT_EQ(came.method + " " + came.target, "POST /v1/ports/3000/a%2Fb//c?d=%20&e");
  EXPECT_EQ(came.body, "body");
  EXPECT_EQ(came.fields.get("X-Own"), "2");
  EXPECT_EQ(came.fields.get("X-Skiff-Token"), "short-token");
  EXPECT_EQ(came.fields.get("X-Forwarded-For"), "127.0.0.1");
  EXPECT_EQ(came.fields.get("X-Forwarded-Host"), "3000-box.boxes.localhost");
  EXPECT_EQ(came.fields.get("X-Forwarded-Proto"), "http");
  EXPECT_EQ(came.fields.find("X-Forwarded-Prefix"), std::optional<std::string_view>{""}) << "the agent's is not theirs";
  EXPECT_EQ(came.fields.get("Via"), "1.1 gateway-1");
  EXPECT_EQ(scene.sandboxes.asked, std::vector<std::string>{"team/box ports"});
  co_await scene.stop();
}

CO_TEST(Gateway, ReachesAServerByThePath) {
  GatewayScene scene{executor};
  co_await GatewayScene::ask(&scene, "GET /s/box/3000/a?b", "Host: x\r\n", "");
  CO_ASSERT_TRUE(scene.came.size() == 1);
  EXPECT_EQ(scene.came[0].target, "/v1/ports/3000/a?b");
  EXPECT_EQ(scene.came[0].fields.get("X-Forwarded-Prefix"), "/s/box/3000");
  co_await scene.stop();
}

CO_TEST(Gateway, ReachesTheAgentsOwnApi) {
  GatewayScene scene{executor};
  scene.sandboxes.prefix = "/proxied";
  scene.sandboxes.headers = {{"X-Sandbox-ID", "box-of-the-way"}, {"Authorization", "Bearer of-the-way"}};
  scene.permission.credential_fields = {"Authorization"};
  co_await GatewayScene::ask(&scene, "GET /v1/version?x",
                             std::string{kAgentHost} + "Authorization: Bearer key\r\nCookie: a=b\r\n" +
                                 "Origin: https://console.example\r\nX-Skiff-Token: theirs\r\nX-API-Key: key\r\n" +
                                 "Sec-WebSocket-Protocol: skiff.v1, skiff.bearer.YWxwaGE\r\n",
                             "");
  CO_ASSERT_TRUE(scene.came.size() == 1);
  const CameToAgent& came = scene.came[0];
  EXPECT_EQ(came.target, "/proxied/v1/version?x");
  EXPECT_EQ(came.fields.count("X-Skiff-Token"), 1u);
  EXPECT_EQ(came.fields.get("X-Skiff-Token"), "short-token");
  EXPECT_EQ(came.fields.count("Authorization"), 1u);
  EXPECT_EQ(came.fields.get("Authorization"), "Bearer of-the-way");
  EXPECT_EQ(came.fields.get("X-Sandbox-ID"), "box-of-the-way");
  EXPECT_EQ(came.fields.get("Sec-WebSocket-Protocol"), "skiff.v1");
  for (const char* field : {"Cookie", "Origin", "X-API-Key"}) EXPECT_FALSE(came.fields.contains(field)) << field;
  EXPECT_EQ(scene.sandboxes.asked, std::vector<std::string>{"team/box read exec ports"});
  co_await scene.stop();
}

CO_TEST(Gateway, DialsTheDialects) {
  GatewayScene scene{executor};
  scene.permission.credential_fields = {"X-Access-Token"};
  co_await GatewayScene::ask(&scene, "GET /files?path=a",
                             "Host: x\r\nE2b-Sandbox-Id: box\r\nE2b-Sandbox-Port: 49983\r\nX-Access-Token: t\r\n"
                             "Authorization: Basic dXNlcjo=\r\n",
                             "");
  CO_ASSERT_TRUE(scene.came.size() == 1);
  EXPECT_EQ(scene.came[0].target, "/files?path=a");
  EXPECT_EQ(scene.came[0].fields.get("Authorization"), "Basic dXNlcjo=");
  for (const char* field : {"X-Access-Token", "X-Skiff-Token", "E2b-Sandbox-Id", "E2b-Sandbox-Port"}) {
    EXPECT_FALSE(scene.came[0].fields.contains(field)) << field;
  }
  EXPECT_EQ(scene.sandboxes.asked, std::vector<std::string>{"team/box dial 49983"});
  co_await scene.stop();
}

CO_TEST(Gateway, KeepsTheClientsCredentialToItself) {
  GatewayScene scene{executor};
  scene.permission.credential_fields = {"Authorization", "E2b-Traffic-Access-Token"};
  co_await GatewayScene::ask(
      &scene, "GET /?a&skiff-preview=1.mac&b",
      std::string{kServerHost} + "Authorization: Bearer key\r\nx-api-key: key\r\nX-Skiff-Token: a\r\n" +
          "x-skiff-token: b\r\ne2b-traffic-access-token: t\r\nCookie: a=b; skiff-preview=t; c=d\r\n" +
          "Cookie: __Host-skiff-preview=t\r\nX-Sandbox-Pod-IP: 10.0.0.1\r\n",
      "");
  CO_ASSERT_TRUE(scene.came.size() == 1);
  const CameToAgent& came = scene.came[0];
  EXPECT_EQ(came.target, "/v1/ports/3000/?a&b");
  EXPECT_EQ(came.fields.get("Cookie"), "a=b; c=d");
  EXPECT_EQ(came.fields.count("X-Skiff-Token"), 1u);
  for (const char* field : {"Authorization", "X-API-Key", "E2b-Traffic-Access-Token", "X-Sandbox-Pod-IP"}) {
    EXPECT_FALSE(came.fields.contains(field)) << field;
  }
  for (const auto [field, value] : came.fields) {
    EXPECT_FALSE(value.contains("key") || value.contains("skiff-preview")) << field << ": " << value;
  }
  co_await scene.stop();
}

CO_TEST(Gateway, LeavesTheApplicationItsOwnAuthorization) {
  GatewayScene scene{executor};
  co_await GatewayScene::ask(&scene, "GET /",
                             std::string{kServerHost} + "X-API-Key: key\r\nAuthorization: Bearer theirs\r\n", "");
  CO_ASSERT_TRUE(scene.came.size() == 1);
  EXPECT_EQ(scene.came[0].fields.get("Authorization"), "Bearer theirs");
  co_await scene.stop();
}

CO_TEST(Gateway, BelievesNobodyWhereAClientIsUnlessAProxyIsInFront) {
  const std::string fields = std::string{kServerHost} + "X-Forwarded-For: 6.6.6.6\r\nX-Forwarded-Proto: https\r\n";
  for (const bool behind_proxy : {false, true}) {
    GatewayScene scene{executor, {}, {.behind_proxy = behind_proxy}};
    co_await GatewayScene::ask(&scene, "GET /", fields, "");
    CO_ASSERT_TRUE(scene.came.size() == 1);
    EXPECT_EQ(scene.came[0].fields.get("X-Forwarded-For"), behind_proxy ? "6.6.6.6, 127.0.0.1" : "127.0.0.1");
    EXPECT_EQ(scene.came[0].fields.get("X-Forwarded-Proto"), behind_proxy ? "https" : "http");
    co_await scene.stop();
  }
}

CO_TEST(Gateway, NeedsTheScopeOfWhatIsBehind) {
  struct Case {
    const char* host;
    const char* scope;
    bool may;
  };
  for (const auto& [host, scope, may] :
       {Case{kServerHost, "ports", true}, Case{kServerHost, "read exec", false}, Case{kServerHost, "admin", true},
        Case{kServerHost, "", false}, Case{kServerHost, "portsx xports", false}, Case{kAgentHost, "ports", false},
        Case{kAgentHost, "read", true}, Case{kAgentHost, "read ports", true}, Case{kAgentHost, "admin", true},
        Case{kDialectHost, "read ports", false}, Case{kDialectHost, "exec", true}, Case{kDialectHost, "", false}}) {
    GatewayScene scene{executor};
    scene.permission.scope = scope;
    const auto answer = co_await GatewayScene::ask(&scene, "GET /", host, "");
    EXPECT_EQ(answer.status, may ? 201u : 599u) << host << scope;
    if (!may) EXPECT_EQ(answer.body, "insufficient_scope");
    EXPECT_EQ(scene.came.size(), may ? 1u : 0u);
    EXPECT_EQ(scene.sandboxes.asked.size(), may ? 1u : 0u) << "nobody is woken for that";
    co_await scene.stop();
  }
}

CO_TEST(Gateway, EndsWithThePermission) {
  GatewayScene scene{executor, {}, {.longest = 100s}};
  scene.permission.ends = wall_now() - 1s;
  auto answer = co_await GatewayScene::ask(&scene, "GET /", kServerHost, "");
  EXPECT_EQ(answer.body, "unauthenticated");
  EXPECT_TRUE(scene.sandboxes.asked.empty());
  scene.permission.ends = wall_now() + 30s;
  co_await GatewayScene::ask(&scene, "GET /", kServerHost, "");
  EXPECT_LE(scene.sandboxes.lifetime, 30s);
  scene.permission.ends.reset();
  co_await GatewayScene::ask(&scene, "GET /", kServerHost, "");
  EXPECT_LE(scene.sandboxes.lifetime, 100s);
  EXPECT_GT(scene.sandboxes.lifetime, 30s);
  co_await scene.stop();
}

CO_TEST(Gateway, CutsWhatOutlivesThePermission) {
  GatewayScene scene{executor, [](HttpExchange& http) -> Task<> {
                       (void)co_await http.start({});
                       (void)co_await http.write("first");
                       (void)co_await http.peer_closed();
                     }};
  scene.permission.ends = wall_now() + 200ms;
  const auto answer = co_await GatewayScene::ask(&scene, "GET /", kServerHost, "");
  EXPECT_EQ(answer.status, 200u);
  EXPECT_EQ(answer.body, "first");
  EXPECT_TRUE(answer.cut);
  co_await scene.stop();
}

CO_TEST(Gateway, WakesAStoppedSandboxOnce) {
  GatewayScene scene{executor};
  scene.sandboxes.running = false;
  for (const char* host : {kServerHost, kDialectHost, kAgentHost}) {
    scene.sandboxes.running = false;
    scene.sandboxes.starts = 0;
    const auto answer = co_await GatewayScene::ask(&scene, "POST /x", host, "the body is still whole");
    EXPECT_EQ(answer.status, 201u) << host;
    CO_ASSERT_TRUE(!scene.came.empty());
    EXPECT_EQ(scene.came.back().body, "the body is still whole");
    EXPECT_EQ(scene.sandboxes.starts, 1);
  }
  scene.sandboxes.running = false;
  scene.sandboxes.may_start = false;
  const auto answer = co_await GatewayScene::ask(&scene, "GET /", kServerHost, "");
  EXPECT_EQ(answer.body, "sandbox_not_running");
  co_await scene.stop();
}

CO_TEST(Gateway, SaysWhenToAskAgain) {
  GatewayScene scene{executor, {}, {.wake = {.patience = 5ms, .waiting = 0}}};
  scene.sandboxes.running = false;
  const auto answer = co_await GatewayScene::ask(&scene, "GET /", kServerHost, "");
  EXPECT_EQ(answer.body, "sandbox_starting");
  EXPECT_TRUE(answer.has("Retry-After: 2\r\n"));
  EXPECT_EQ(scene.sandboxes.starts, 0);
  co_await scene.stop();
}

CO_TEST(Gateway, KnowsOnlyWhatThereIs) {
  GatewayScene scene{executor};
  auto answer = co_await GatewayScene::ask(&scene, "GET /", "Host: 3000-other.boxes.localhost\r\n", "");
  EXPECT_EQ(answer.body, "sandbox_not_found");
  EXPECT_TRUE(scene.came.empty());
  answer = co_await GatewayScene::ask(&scene, "GET /", std::string{kServerHost} + "Via: 1.1 gateway-1\r\n", "");
  EXPECT_EQ(answer.body, "invalid_request") << "it goes round";
  answer = co_await GatewayScene::ask(&scene, "OPTIONS *", kServerHost, "");
  EXPECT_EQ(answer.body, "invalid_request");
  EXPECT_TRUE(scene.came.empty());
  co_await scene.stop();
}

CO_TEST(Gateway, TellsOfAnAgentThatDoesNotAnswer) {
  GatewayScene scene{executor};
  co_await scene.agent.server.stop();
  const auto answer = co_await GatewayScene::ask(&scene, "GET /", kServerHost, "");
  EXPECT_EQ(answer.body, "bad_gateway");
  co_await scene.stop();
}

CO_TEST(Gateway, CarriesAWebSocketsBytes) {
  GatewayScene scene{executor, [](HttpExchange& http) -> Task<> {
                       EXPECT_EQ(http.request().headers.get("Upgrade"), "bytes");
                       auto handler = [](protocol::Upgraded upgraded) -> Task<> {
                         RawClient peer{std::move(upgraded.stream)};
                         EXPECT_EQ(upgraded.buffered + co_await peer.read_bytes(4 - upgraded.buffered.size()), "ping");
                         EXPECT_TRUE(co_await peer.send("pong"));
                         co_await peer.read_all();
                       };
                       (void)co_await http.upgrade({{"Upgrade", "bytes"}, {"Connection", "Upgrade"}},
                                                   std::move(handler));
                     }};
  RawClient client = co_await test::dial(executor, scene.front.address);
  EXPECT_TRUE(co_await client.send("GET /socket HTTP/1.1\r\n" + std::string{kServerHost} +
                                   "Connection: Upgrade\r\nUpgrade: bytes\r\n\r\nping"));
  const std::string head = co_await client.read_until("\r\n\r\n");
  EXPECT_TRUE(head.starts_with("HTTP/1.1 101 ")) << head;
  EXPECT_EQ(co_await client.read_bytes(4), "pong");
  EXPECT_EQ(scene.gateway.upgraded(), 1u);
  client.stream().shutdown_write();
  EXPECT_EQ(co_await client.read_all(), "");
  co_await scene.stop();
  EXPECT_EQ(scene.gateway.upgraded(), 0u);
}

CO_TEST(Gateway, StreamsEventsAsTheyHappen) {
  Event heard{executor};
  int events = 0;
  GatewayScene scene{executor, [&](HttpExchange& http) -> Task<> {
                       (void)co_await http.start({.headers = {{"Content-Type", "text/event-stream"}}});
                       for (int sent = 0; sent < 3; ++sent) {
                         while (events < sent) co_await heard.wait();
                         (void)co_await http.write("data: " + std::to_string(sent) + "\n\n");
                       }
                       (void)co_await http.finish();
                     }};
  RawClient client = co_await test::dial(executor, scene.front.address);
  EXPECT_TRUE(co_await client.send("GET /events HTTP/1.1\r\n" + std::string{kServerHost} + "\r\n"));
  for (int i = 0; i < 3; ++i) {
    const std::string event = co_await client.read_until("data: " + std::to_string(i) + "\n\n");
    EXPECT_FALSE(event.empty()) << "each one comes before the next is made";
    ++events;
    heard.notify_all();
  }
  client.stream().close();
  co_await scene.stop();
}

CO_TEST(Gateway, TakesAlongWhoeverStays) {
  bool left = false;
  Event changed{executor};
  GatewayScene scene{executor, [&](HttpExchange& http) -> Task<> {
                       left = co_await http.peer_closed();
                       changed.notify_all();
                     }};
  {
    RawClient client = co_await test::dial(executor, scene.front.address);
    EXPECT_TRUE(co_await client.send("GET / HTTP/1.1\r\n" + std::string{kServerHost} + "\r\n"));
    while (scene.agent.server.requests() == 0) co_await test::pause(1ms);
  }
  while (!left) co_await changed.wait();
  co_await scene.stop();
}

}  // namespace
}  // namespace skiff::container::serve
