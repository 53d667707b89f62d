#include "container/drivers/serve/driver.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/async/task_group.hpp"
#include "tests/container/kube/canned_server.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container {
namespace {

using namespace std::chrono_literals;
using test::answer;
using test::CannedServer;

constexpr const char* kProblemHead = "Content-Type: application/problem+json\r\n";

std::string sandbox_view(const std::string& id, const std::string& more = {}) {
  return R"({"id":")" + id + R"(","uid":"u-1","template":"base","state":"running","reason":"","owner":"me",)" +
         R"("labels":{"a":"b"},"created_at":"2026-01-01T00:00:00Z","on_end":"stop")" + more + "}";
}

CannedServer::Answer problem_answer(const std::string& status, const std::string& code) {
  return {answer(status, R"({"code":")" + code + R"(","detail":"why"})", kProblemHead)};
}

std::unique_ptr<ServedDriver> served_driver(Executor executor, const CannedServer& server) {
  const std::string url = "http://127.0.0.1:" + std::to_string(server.access().server.port);
  return ServedDriver::open(executor, {.url = url, .api_key = "key"}).value();
}

Progress no_progress() {
  return [](Phase, std::string_view) {};
}

/// The body of a request as it was sent.
std::string sent_body(const std::string& request) {
  return request.substr(request.find("\r\n\r\n") + 4);
}

std::string sent_line(const std::string& request) {
  return request.substr(0, request.find(" HTTP/1.1"));
}

CO_TEST(ServedDriver, AsksForASandboxAsTheOtherDriversMakeIt) {
  CannedServer server{executor,
                      {{answer("201 Created", sandbox_view("demo"))}, {answer("201 Created", sandbox_view("once"))}}};
  const auto driver = served_driver(executor, server);
  SandboxSpec spec{.name = "demo", .owner = "me@here", .env = {{"A", "1"}}, .labels = {{"a", "b"}}};
  spec.lease.ttl = 60s;
  spec.pod.template_name = "python";
  spec.pod.network = "deny";
  const auto made = co_await driver->create(std::move(spec), no_progress());
  CO_ASSERT_TRUE(made.has_value()) << made.error().message;
  EXPECT_EQ(made->name, "demo");
  EXPECT_EQ(made->id, "u-1");
  EXPECT_EQ(made->driver, "serve");
  EXPECT_TRUE(made->address.ends_with("/s/demo/7070"));
  const auto body = nlohmann::json::parse(sent_body(server.requests()[0]));
  EXPECT_EQ(body["name"], "demo");
  EXPECT_EQ(body["template"], "python");
  EXPECT_EQ(body["owner"], "me@here");
  EXPECT_EQ(body["ttl_ms"], 60'000);
  EXPECT_EQ(body["network"], "deny");
  EXPECT_EQ(body["on_end"], "stop");
  EXPECT_EQ(body["wakes"], false);
  EXPECT_TRUE(server.requests()[0].contains("Idempotency-Key: "));
  EXPECT_TRUE(co_await driver->create({.name = "once", .is_one_shot = true}, no_progress()));
  EXPECT_EQ(nlohmann::json::parse(sent_body(server.requests()[1]))["on_end"], "remove");
  co_await server.stop();
}

CO_TEST(ServedDriver, LetsGoAtTheEndWhatCanNotBeKeptAsleep) {
  const std::string refusal = R"({"code":"not_supported","detail":"no volume","field":"on_end"})";
  CannedServer server{
      executor,
      {{answer("501 Not Implemented", refusal, kProblemHead)}, {answer("201 Created", sandbox_view("demo"))}}};
  const auto driver = served_driver(executor, server);
  const auto made = co_await driver->create({.name = "demo"}, no_progress());
  CO_ASSERT_TRUE(made.has_value()) << made.error().message;
  EXPECT_EQ(nlohmann::json::parse(sent_body(server.requests()[0]))["on_end"], "stop");
  EXPECT_EQ(nlohmann::json::parse(sent_body(server.requests()[1]))["on_end"], "remove");
  co_await server.stop();
}

CO_TEST(ServedDriver, AsksForNothingThatATemplateDecides) {
  CannedServer server{executor, {}};
  const auto driver = served_driver(executor, server);
  const auto refused = [&](auto change) -> Task<std::string> {
    SandboxSpec spec{.name = "demo"};
    change(spec);
    auto made = co_await driver->create(std::move(spec), no_progress());
    co_return made ? std::string{} : made.error().message;
  };
  EXPECT_TRUE((co_await refused([](SandboxSpec& spec) { spec.image = "busybox"; })).starts_with("--image "));
  EXPECT_TRUE((co_await refused([](SandboxSpec& spec) { spec.pod.cpu = "64"; })).starts_with("--cpu "));
  EXPECT_TRUE(
      (co_await refused([](SandboxSpec& spec) { spec.pod.network = "cidr=0.0.0.0/0"; })).starts_with("--network "));
  EXPECT_TRUE((co_await refused([](SandboxSpec& spec) {
                spec.pod.volumes = {"secret/skiff-api-keys:/keys"};
              })).starts_with("--volume "));
  EXPECT_TRUE((co_await refused([](SandboxSpec& spec) {
                spec.pod.service_account = "admin";
              })).starts_with("--service-account "));
  EXPECT_TRUE(
      (co_await refused([](SandboxSpec& spec) { spec.pod.dialects = {"sandboxd"}; })).starts_with("--dialect "));
  EXPECT_TRUE((co_await refused([](SandboxSpec& spec) { spec.name = "../x"; })).contains("is not a name"));
  EXPECT_EQ(server.connections(), 0);
  co_await server.stop();
}

CO_TEST(ServedDriver, LeavesWhatItWasRefusedAlone) {
  CannedServer server{executor, {problem_answer("409 Conflict", "sandbox_conflict")}};
  const auto driver = served_driver(executor, server);
  const auto made = co_await driver->create({.name = "demo"}, no_progress());
  CO_ASSERT_TRUE(!made);
  EXPECT_EQ(made.error().code, Errc::sandbox_conflict);
  EXPECT_EQ(server.requests().size(), 1U) << "another one's sandbox has that name";
  co_await server.stop();
}

CO_TEST(ServedDriver, TakesACreationBackThatIsGivenUp) {
  CannedServer server{
      executor, {{""}, problem_answer("404 Not Found", "sandbox_not_found"), {"HTTP/1.1 204 No Content\r\n\r\n"}}};
  const auto driver = served_driver(executor, server);
  TaskGroup group{executor};
  group.spawn("create", [](ServedDriver* by) -> Task<> {
    (void)co_await by->create({.name = "demo"}, no_progress());
  }(driver.get()));
  while (server.requests().empty()) co_await test::pause(1ms);
  group.cancel();
  co_await group.join();
  CO_ASSERT_TRUE(server.requests().size() == 3U);
  const std::string& made = server.requests()[0];
  const std::size_t at = made.find("Idempotency-Key: ");
  const std::string key = made.substr(at, made.find("\r\n", at) - at);
  for (const std::size_t undone : {1U, 2U}) {
    EXPECT_EQ(sent_line(server.requests()[undone]), "DELETE /v1/sandboxes/demo?grace_ms=0");
    EXPECT_TRUE(server.requests()[undone].contains(key));
  }
  co_await server.stop();
}

CO_TEST(ServedDriver, BelievesNoNameOfTheServer) {
  for (const std::string& id : {std::string{"../../etc"}, std::string{R"(\u001b[31m)"}, std::string{"a b"},
                                std::string{}, std::string{"other"}}) {
    CannedServer server{executor, {{answer("200 OK", sandbox_view(id))}}};
    const auto driver = served_driver(executor, server);
    const auto found = co_await driver->get("demo");
    CO_ASSERT_TRUE(!found) << id;
    EXPECT_EQ(found.error().code, Errc::invalid_request);
    EXPECT_FALSE(found.error().message.contains("etc"));
    co_await server.stop();
  }
}

CO_TEST(ServedDriver, ReadsAListToItsEndAndNoFurther) {
  const auto page = [](const std::string& items, const std::string& next) {
    return CannedServer::Answer{answer("200 OK", R"({"items":[)" + items + R"(],"next":")" + next + "\"}")};
  };
  CannedServer server{executor, {page(sandbox_view("a"), "a"), page(sandbox_view("b"), "")}};
  const auto driver = served_driver(executor, server);
  SandboxFilter filter{.owner = "me", .labels = {{"team", "a/b c"}}, .state = SandboxState::running};
  const auto all = co_await driver->list(std::move(filter));
  CO_ASSERT_TRUE(all.has_value()) << all.error().message;
  EXPECT_EQ(all->items.size(), 2U);
  EXPECT_EQ(all->next, "");
  EXPECT_EQ(sent_line(server.requests()[0]),
            "GET /v1/sandboxes?limit=500&owner=me&state=running&label=team%3Da%2Fb%20c");
  EXPECT_TRUE(sent_line(server.requests()[1]).contains("limit=499&cursor=a&"));
  co_await server.stop();

  CannedServer endless{executor, {page(sandbox_view("a"), "a"), page("", "a")}};
  const auto lied_to = served_driver(executor, endless);
  EXPECT_FALSE(co_await lied_to->list({}));
  co_await endless.stop();

  CannedServer fuller{executor, {page(sandbox_view("a") + "," + sandbox_view("b"), "")}};
  const auto flooded = served_driver(executor, fuller);
  EXPECT_FALSE(co_await flooded->list({.limit = 1}));
  co_await fuller.stop();
}

CO_TEST(ServedDriver, RemovesTheOneThatIsMeant) {
  CannedServer server{executor,
                      {{"HTTP/1.1 204 No Content\r\n\r\n"},
                       problem_answer("404 Not Found", "sandbox_not_found"),
                       {"", true},
                       problem_answer("404 Not Found", "sandbox_not_found"),
                       {answer("200 OK", sandbox_view("demo"))},
                       {"HTTP/1.1 204 No Content\r\n\r\n"},
                       {answer("200 OK", sandbox_view("demo"))}}};
  const auto driver = served_driver(executor, server);
  EXPECT_TRUE((co_await driver->remove("demo", {.grace = 3s})).value());
  EXPECT_EQ(sent_line(server.requests()[0]), "DELETE /v1/sandboxes/demo?grace_ms=3000");
  EXPECT_FALSE((co_await driver->remove("demo", {})).value());
  EXPECT_TRUE((co_await driver->remove("demo", {})).value()) << "the answer that was lost may have said so";
  const auto always = [](const Sandbox&) { return true; };
  EXPECT_TRUE((co_await driver->remove_if("demo", "u-1", {.only_if = always})).value());
  EXPECT_EQ(sent_line(server.requests()[5]), "DELETE /v1/sandboxes/demo?state=running&uid=u-1");
  EXPECT_FALSE((co_await driver->remove_if("demo", "u-0", {.only_if = always})).value());
  const auto forced = co_await driver->remove("demo", {.force = true});
  CO_ASSERT_TRUE(!forced);
  EXPECT_TRUE(forced.error().message.starts_with("--force "));
  EXPECT_FALSE(co_await driver->remove("demo", {.wait = false}));
  EXPECT_TRUE(server.all_used());
  co_await server.stop();
}

CO_TEST(ServedDriver, ReachesAgentsThroughTheGatewayByTheKey) {
  CannedServer server{
      executor, {{answer("201 Created", R"({"token":"t"})")}, problem_answer("409 Conflict", "sandbox_not_running")}};
  const auto driver = served_driver(executor, server);
  auto endpoint = co_await driver->endpoint("demo", {.scope = "read exec", .lifetime = 60s});
  CO_ASSERT_TRUE(endpoint.has_value()) << endpoint.error().message;
  EXPECT_EQ(sent_line(server.requests()[0]), "POST /v1/sandboxes/demo/tokens");
  EXPECT_EQ(sent_body(server.requests()[0]), R"({"scopes":["read","exec"],"ttl_ms":60000})");
  EXPECT_EQ(endpoint->path_prefix, "/s/demo/7070");
  EXPECT_EQ(endpoint->token().value(), "t");
  EXPECT_EQ((co_await endpoint->fresh_headers()).value().get("X-API-Key"), "key");
  const auto stopped = co_await driver->endpoint("demo", {});
  CO_ASSERT_TRUE(!stopped);
  EXPECT_EQ(stopped.error().code, Errc::sandbox_not_running);
  co_await server.stop();
}

CO_TEST(ServedDriver, IsExaminedByWhatItsKeyMay) {
  const std::string key =
      R"({"name":"me","tenant":"team","scopes":["create","use"],"max_sandboxes":3,"creations_per_minute":0})";
  CannedServer server{executor, {{answer("200 OK", key)}, problem_answer("401 Unauthorized", "unauthenticated")}};
  const auto driver = served_driver(executor, server);
  const auto passed = co_await driver->examine();
  CO_ASSERT_TRUE(passed.size() == 2U);
  EXPECT_TRUE(passed[0].passed && passed[1].passed);
  EXPECT_EQ(passed[1].detail, "me of tenant team, allows create use, 3 sandboxes at the same time");
  const auto refused = co_await driver->examine();
  CO_ASSERT_TRUE(refused.size() == 1U);
  EXPECT_FALSE(refused[0].passed);
  EXPECT_FALSE(refused[0].remedy.empty());
  co_await server.stop();
}

}  // namespace
}  // namespace skiff::container
