#include "protocol/service/dispatcher.hpp"

#include <array>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocol/service/body.hpp"
#include "protocol/service/route.hpp"
#include "tests/protocol/http/raw_client.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::protocol::service {
namespace {

using test::RawResponse;
using test::TestServer;
using ::testing::ElementsAre;

struct TestVisit {
  HttpExchange& http;
  std::vector<std::string>* told;
  Match match = {};
};

Task<Result<>> echo(TestVisit* visit) {
  SKIFF_CO_TRY(auto text, co_await read_json(&visit->http, 8));
  HttpResponse response{.body = text + visit->match.parameters.at(0)};
  co_return co_await visit->http.respond(std::move(response));
}

Task<Result<>> fail_late(TestVisit* visit) {
  HttpResponse response{.body = "sent"};
  SKIFF_CO_TRY_VOID(co_await visit->http.respond(std::move(response)));
  co_return fail(Errc::internal, "too late");
}

using TestRoute = Route<Task<Result<>> (*)(TestVisit*)>;
constexpr std::array kTestRoutes{TestRoute{.method = "POST", .path = "/echo/{name}", .handler = echo},
                                 TestRoute{.method = "GET", .path = "/late", .handler = fail_late}};

struct TestFace {
  using Visit = TestVisit;
  static constexpr std::string_view kNoSuchPath = "no such path";

  static void find(Visit* visit) {
    static const Router router{kTestRoutes};
    const auto& request = visit->http.request();
    visit->match = router.match(request.method, decoded_segments(request.target));
  }
  static Result<std::optional<HttpResponse>> guard(Visit* visit) {
    const auto& headers = visit->http.request().headers;
    if (headers.contains("Evil")) return fail(Errc::origin_not_allowed, "evil");
    if (headers.contains("Preflight")) return HttpResponse{.status = 204};
    return std::nullopt;
  }
  static Task<Result<>> identify(Visit* visit) {
    if (visit->http.request().headers.contains("Stranger")) co_return fail(Errc::unauthenticated, "who?");
    co_return Result<>{};
  }
  static Task<Result<>> handle(Visit* visit) { return kTestRoutes.at(visit->match.route).handler(visit); }
  static HttpResponse problem(Visit*, const Error& error) {
    return {.status = 418, .body = std::string{name(error.code)} + ": " + error.message};
  }
  static void tell(Visit* visit, const Result<>& outcome) {
    visit->told->push_back(std::to_string(visit->http.status()) + ' ' +
                           (outcome ? "ok" : std::string{name(outcome.error().code)}));
  }
};

struct Front : TestServer {
  explicit Front(Executor executor)
      : TestServer{executor, [this](HttpExchange& http) { return dispatch<TestFace>({.http = http, .told = &told}); }},
        on{executor} {}

  Task<RawResponse> ask(std::string head, std::string body = {}) {
    auto client = co_await test::dial(on, address);
    const std::string size = body.empty() ? "" : "Content-Length: " + std::to_string(body.size()) + "\r\n";
    const bool sent = co_await client.send(head + "\r\nHost: x\r\n" + size + "\r\n" + body);
    EXPECT_TRUE(sent);
    co_return co_await client.response();
  }

  Executor on;
  std::vector<std::string> told;
};

CO_TEST(Dispatcher, RunsTheHandlerAndRecordsTheRequest, Front& front) {
  const auto answer = co_await front.ask("POST /echo/a HTTP/1.1\r\nContent-Type: application/json", "{}");
  EXPECT_EQ(answer.status, 200U);
  EXPECT_EQ(answer.body, "{}a");
  EXPECT_THAT(front.told, ElementsAre("200 ok"));
}

CO_TEST(Dispatcher, ListsTheMethodsOfAPath, Front& front) {
  const auto other = co_await front.ask("PUT /late HTTP/1.1");
  EXPECT_TRUE(other.has("Allow: GET, HEAD\r\n")) << other.head;
  EXPECT_EQ(other.body, "method_not_allowed: this path has: GET, HEAD");
  const auto none = co_await front.ask("GET /nope HTTP/1.1");
  EXPECT_FALSE(none.has("Allow:"));
  EXPECT_EQ(none.body, "not_found: no such path");
}

CO_TEST(Dispatcher, ChecksTheHeadBeforeTheCredential, Front& front) {
  EXPECT_EQ((co_await front.ask("GET /nope HTTP/1.1\r\nEvil: 1\r\nStranger: 1")).body, "origin_not_allowed: evil");
  EXPECT_EQ((co_await front.ask("GET /nope HTTP/1.1\r\nStranger: 1")).body, "unauthenticated: who?");
  EXPECT_EQ((co_await front.ask("GET /nope HTTP/1.1\r\nPreflight: 1\r\nStranger: 1")).status, 204U);
  EXPECT_THAT(front.told, ElementsAre("418 origin_not_allowed", "418 unauthenticated", "204 ok"));
}

CO_TEST(Dispatcher, SendsNoProblemAfterAnAnswer, Front& front) {
  EXPECT_EQ((co_await front.ask("GET /late HTTP/1.1")).body, "sent");
  EXPECT_THAT(front.told, ElementsAre("200 internal"));
}

CO_TEST(Dispatcher, RequiresTheJsonContentType, Front& front) {
  const std::string path = "POST /echo/a HTTP/1.1";
  EXPECT_TRUE((co_await front.ask(path, "{}")).body.starts_with("unsupported_media_type"));
  EXPECT_TRUE((co_await front.ask(path + "\r\nContent-Type: text/plain", "{}")).body.starts_with("unsupported"));
  EXPECT_EQ((co_await front.ask(path)).body, "a") << "nothing has no type";
  EXPECT_TRUE((co_await front.ask(path + "\r\nContent-Type: application/json", "123456789"))
                  .body.starts_with("payload_too_large"));
}

}  // namespace
}  // namespace skiff::protocol::service
