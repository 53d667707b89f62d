#include "container/drivers/serve/server_client.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "container/serve/api/bodies.hpp"
#include "tests/container/kube/canned_server.hpp"
#include "tests/support/reactor_test.hpp"
#include "tests/support/temporary_directory.hpp"

namespace skiff::container {
namespace {

using namespace std::chrono_literals;
using test::answer;
using test::CannedServer;

constexpr const char* kShownKey = "e2b_0123456789";
constexpr const char* kProblemField = "Content-Type: application/problem+json\r\n";

std::string address_of_server(const CannedServer& server) {
  return "http://127.0.0.1:" + std::to_string(server.access().server.port);
}

std::unique_ptr<ServerClient> client_at(Executor executor, const CannedServer& server) {
  return ServerClient::open(executor, {.url = address_of_server(server), .api_key = kShownKey}).value();
}

/// The error for an answer to `GET /v1/me`.
Task<Error> refusal_of(Executor executor, std::string bytes) {
  CannedServer server{executor, {{std::move(bytes)}}};
  const auto client = client_at(executor, server);
  auto asked = co_await client->ask({.path = "/v1/me"});
  EXPECT_FALSE(asked.has_value());
  EXPECT_TRUE(server.all_used());
  co_await server.stop();
  co_return asked ? Error{} : std::move(asked.error());
}

CO_TEST(ServerClient, IsNotOpenedWithoutWhatItNeeds) {
  const auto refused = [executor](ServedOptions options) {
    const auto opened = ServerClient::open(executor, std::move(options));
    return opened ? std::string{} : opened.error().message;
  };
  const test::TemporaryDirectory directory;
  EXPECT_TRUE(refused({.api_key = kShownKey}).contains("--url https://HOST"));
  EXPECT_TRUE(refused({.url = "host:7080", .api_key = kShownKey}).contains("http://HOST:PORT"));
  EXPECT_TRUE(refused({.url = "unix:///run/serve", .api_key = kShownKey}).contains("http://HOST:PORT"));
  EXPECT_TRUE(refused({.url = "https://me:secret@host", .api_key = kShownKey}).contains("SKIFF_API_KEY"));
  EXPECT_TRUE(refused({.url = "http://host"}).contains("--api-key-file FILE"));
  EXPECT_TRUE(refused({.url = "http://host", .api_key = "two words"}).contains("SKIFF_API_KEY"));
  EXPECT_TRUE(refused({.url = "http://host", .api_key = "a\r\nX-Forged: 1"}).contains("SKIFF_API_KEY"));
  EXPECT_FALSE(refused({.url = "http://host", .api_key = "secret\nword"}).contains("secret"));
  EXPECT_TRUE(refused({.url = "http://host", .api_key_file = "/no/such/file"}).contains("--api-key-file"));
  EXPECT_TRUE(refused({.url = "http://host", .api_key_file = directory.write("empty", " \n")}).contains("is empty"));
  EXPECT_TRUE(refused({.url = "https://host", .api_key = kShownKey, .certificate_authority = "/no/such/file"})
                  .contains("--agent-certificate-authority"));
  for (const char* url : {"http://host", "https://host:1/path", "http://[::1]:7080"}) {
    EXPECT_EQ(refused({.url = url, .api_key = kShownKey}), "") << url;
  }
  co_return;
}

CO_TEST(ServerClient, ShowsTheKeyInItsFieldAloneAndTellsNobody) {
  CannedServer server{executor, {{answer("200 OK", "{}")}, {answer("200 OK", "{}")}}};
  const test::TemporaryDirectory directory;
  const std::string file = directory.write("key", std::string{kShownKey} + "\nof somebody\n");
  std::string told;
  ServedOptions options{.url = address_of_server(server) + "/below/", .api_key_file = file};
  options.tell = [&told](std::string_view method, std::string_view url, unsigned status, std::chrono::milliseconds) {
    told += std::string{method} + " " + std::string{url} + " " + std::to_string(status) + "\n";
  };
  const auto client = ServerClient::open(executor, std::move(options)).value();
  EXPECT_TRUE((co_await client->ask({.path = "/v1/me", .query = {{"a", "b c&d"}}})).has_value());
  EXPECT_TRUE(server.requests()[0].starts_with("GET /below/v1/me?a=b%20c%26d HTTP/1.1\r\n")) << server.requests()[0];
  EXPECT_TRUE(server.requests()[0].contains(std::string{"X-API-Key: "} + kShownKey + "\r\n"));
  EXPECT_EQ(told, "GET " + address_of_server(server) + "/below/v1/me?a=b%20c%26d 200\n");
  // A key that was changed is the next request's.
  directory.write("key", "other");
  EXPECT_TRUE((co_await client->ask({.path = "/v1/me"})).has_value());
  EXPECT_TRUE(server.requests()[1].contains("X-API-Key: other\r\n"));
  co_await server.stop();
}

CO_TEST(ServerClient, FollowsNoRedirectWithTheKey) {
  CannedServer elsewhere{executor, {}};
  const std::string where = address_of_server(elsewhere) + "/v1/me";
  for (const char* status :
       {"301 Moved Permanently", "302 Found", "307 Temporary Redirect", "308 Permanent Redirect"}) {
    const Error error = co_await refusal_of(executor, answer(status, "", "Location: " + where + "\r\n"));
    EXPECT_EQ(error.code, Errc::invalid_request);
    EXPECT_TRUE(error.message.contains(where)) << error.message;
  }
  EXPECT_EQ(elsewhere.connections(), 0);
  co_await elsewhere.stop();
}

CO_TEST(ServerClient, GivesTheServersOwnCodeAndSaysWhatToDo) {
  const Error strange = co_await refusal_of(
      executor,
      answer("401 Unauthorized", R"({"code":"unauthenticated","detail":"there is no such API key"})", kProblemField));
  EXPECT_EQ(strange.code, Errc::unauthenticated);
  EXPECT_TRUE(strange.message.contains("no such API key") && strange.message.contains("SKIFF_API_KEY"));
  EXPECT_FALSE(strange.message.contains(kShownKey));

  const Error less = co_await refusal_of(
      executor, answer("403 Forbidden", R"({"code":"insufficient_scope","detail":"no"})", kProblemField));
  EXPECT_EQ(less.code, Errc::insufficient_scope);
  EXPECT_TRUE(less.message.contains("skiff key create"));

  const Error many = co_await refusal_of(
      executor, answer("429 Too Many Requests", R"({"code":"too_many_sandboxes","detail":"2 at the same time"})",
                       std::string{kProblemField} + "Retry-After: 5\r\n"));
  EXPECT_EQ(many.code, Errc::too_many_sandboxes);
  EXPECT_TRUE(many.message.contains("in 5 s") && many.message.contains("skiff ps")) << many.message;

  const Error failed = co_await refusal_of(
      executor, answer("502 Bad Gateway", R"({"code":"sandbox_failed","detail":"no node","field":"unschedulable"})",
                       kProblemField));
  EXPECT_EQ(failed.code, Errc::sandbox_failed);
  EXPECT_EQ(failed.field, "unschedulable");

  const Error later = co_await refusal_of(
      executor, answer("418 I'm a teapot", R"({"code":"of_tomorrow","title":"short"})", kProblemField));
  EXPECT_EQ(later.code, Errc::invalid_request);
  EXPECT_EQ(later.message, "short");
}

CO_TEST(ServerClient, TellsWhatIsNotTheServer) {
  for (const std::string& bytes :
       {answer("404 Not Found", "<html>", "Content-Type: text/html\r\n"), answer("404 Not Found", "{}"),
        answer("500 Internal Server Error", "[]", kProblemField),
        answer("403 Forbidden", R"({"code":7})", kProblemField)}) {
    const Error error = co_await refusal_of(executor, bytes);
    EXPECT_EQ(error.code, Errc::invalid_request);
    EXPECT_TRUE(error.message.contains("is not `skiff serve`")) << error.message;
  }
}

CO_TEST(ServerClient, BelievesNoTypesOfTheServer) {
  const auto of = [](const char* body) { return ServerAnswer{.head = {}, .body = body}; };
  CannedServer server{executor, {}};
  const auto client = client_at(executor, server);
  for (const char* body : {"", "[]", "null", R"({"items":{}})", R"({"items":[7]})", R"({"items":[],"next":1})"}) {
    const auto read = client->read<serve::own::SandboxList>(of(body));
    CO_ASSERT_TRUE(!read) << body;
    EXPECT_EQ(read.error().code, Errc::invalid_request);
  }
  EXPECT_TRUE(client->read<serve::own::SandboxList>(of(R"({"items":[],"next":"","of_tomorrow":1})")));
  co_await server.stop();
}

CO_TEST(ServerClient, BoundsWhatItReads) {
  const Error error = co_await refusal_of(
      executor, "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(ServerClient::kLongestAnswer + 1) + "\r\n\r\n");
  EXPECT_EQ(error.code, Errc::payload_too_large);
  const Error long_one = co_await refusal_of(
      executor, answer("409 Conflict", R"({"code":"sandbox_conflict","detail":")" + std::string(100'000, 'x') + "\"}",
                       kProblemField));
  EXPECT_LT(long_one.message.size(), 10'000U);
}

CO_TEST(ServerClient, AsksAgainForAnAnswerThatWasLost) {
  CannedServer server{executor, {{"", true}, {"HTTP/1.1 201 Cre", true}, {answer("201 Created", "{}")}}};
  const auto client = client_at(executor, server);
  auto made = co_await client->send(
      {.method = "POST", .path = "/v1/sandboxes", .body = R"({"name":"a"})", .idempotency_key = "k1"});
  CO_ASSERT_TRUE(made.has_value()) << made.error().message;
  EXPECT_TRUE(made->is_of_repeat);
  CO_ASSERT_TRUE(server.requests().size() == 3U);
  for (const std::string& request : server.requests()) EXPECT_EQ(request, server.requests().front());
  EXPECT_TRUE(server.requests().front().contains("Idempotency-Key: k1\r\n"));
  co_await server.stop();
}

CO_TEST(ServerClient, AsksAServerThatComesAfterOneThatGoes) {
  CannedServer server{
      executor,
      {{answer("503 Service Unavailable", R"({"code":"draining","detail":"about to stop"})", kProblemField)},
       {answer("502 Bad Gateway", "no upstream", "Content-Type: text/html\r\n")},
       {answer("200 OK", "{}")}}};
  const auto client = client_at(executor, server);
  EXPECT_TRUE((co_await client->ask({.path = "/v1/me"})).has_value());
  EXPECT_TRUE(server.all_used());
  co_await server.stop();
}

CO_TEST(ServerClient, WaitsNoLongerThanItsPatience) {
  CannedServer server{executor, {{""}}};
  const auto client = client_at(executor, server);
  const auto late = co_await client->ask({.path = "/v1/me", .patience = 50ms});
  CO_ASSERT_TRUE(!late);
  EXPECT_EQ(late.error().code, Errc::timeout);
  co_await server.stop();
}

CO_TEST(ServerClient, TellsAtOnceThatNobodyIsThere) {
  std::string url;
  {
    CannedServer server{executor, {}};
    url = address_of_server(server);
    co_await server.stop();
  }
  const auto client = ServerClient::open(executor, {.url = url, .api_key = kShownKey}).value();
  const auto asked = co_await client->ask({.path = "/v1/me"});
  CO_ASSERT_TRUE(!asked);
  EXPECT_TRUE(asked.error().message.contains(url)) << asked.error().message;
  EXPECT_FALSE(client->was_reached());
}

}  // namespace
}  // namespace skiff::container
