#include "container/agent/client.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/container/agent/lying_agent.hpp"
#include "tests/container/kube/canned_server.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container {
namespace {

using nlohmann::json;
using test::answer;
using test::CannedServer;
using test::kStreamHead;

/// An agent whose answers are written down byte by byte.
struct CannedAgent {
  CannedAgent(Executor executor, std::deque<CannedServer::Answer> answers)
      : server{executor, std::move(answers)},
        client{executor,
               fakes::endpoint_at(executor, protocol::Address::ip("127.0.0.1", server.access().server.port).value())} {}
  CannedServer server;
  AgentClient client;
};

/// The error of a GET that is answered so; the answer itself if it is none.
Task<Error> error_of(Executor executor, std::string bytes) {
  CannedAgent agent{executor, {{std::move(bytes), true}}};
  auto got = co_await agent.client.get("/v1/version");
  co_await agent.server.stop();
  co_return got ? Error{Errc::internal, got->dump()} : std::move(got.error());
}

CO_TEST(AgentClient, GivesWhatTheAgentAnswers) {
  CannedAgent agent{executor, {{answer("200 OK", R"({"name":"skiffd"})")}, {"HTTP/1.1 204 No Content\r\n\r\n"}}};
  auto got = co_await agent.client.get("/v1/version");
  CO_ASSERT_TRUE(got.has_value()) << got.error().message;
  EXPECT_EQ(text_at(*got, "name"), "skiffd");
  EXPECT_TRUE(agent.server.requests().at(0).contains("X-Skiff-Token: token"));
  got = co_await agent.client.post("/v1/lease", "{}");
  EXPECT_TRUE(got && got->is_null());
  co_await agent.server.stop();
}

Task<Result<protocol::Headers>> next_headers(int* asked) {
  co_return protocol::Headers{{"Authorization", "Bearer " + std::to_string(++*asked)}};
}

CO_TEST(AgentClient, AsksForHeadersThatExpireBeforeEachRequest) {
  CannedServer server{executor, {{answer("200 OK", "{}")}, {answer("200 OK", "{}")}}};
  Endpoint endpoint =
      fakes::endpoint_at(executor, protocol::Address::ip("127.0.0.1", server.access().server.port).value());
  int asked = 0;
  endpoint.fresh_headers = [&] { return next_headers(&asked); };
  AgentClient client{executor, std::move(endpoint)};
  EXPECT_TRUE((co_await client.get("/v1/version")).has_value());
  EXPECT_TRUE((co_await client.get("/v1/version")).has_value());
  EXPECT_TRUE(server.requests().at(0).contains("Authorization: Bearer 1\r\n"));
  EXPECT_TRUE(server.requests().at(1).contains("Authorization: Bearer 2\r\n"));
  co_await server.stop();
}

CO_TEST(AgentClient, GivesTheAgentsOwnErrors) {
  const Error error = co_await error_of(
      executor, answer("404 Not Found", R"({"code":"session_not_found","detail":"no session x","field":"session"})",
                       "Content-Type: application/problem+json\r\n"));
  EXPECT_EQ(error.code, Errc::session_not_found);
  EXPECT_EQ(error.message, "no session x");
  EXPECT_EQ(error.field, "session");
}

CO_TEST(AgentClient, SaysThatSomethingElseAnswers) {
  Error error = co_await error_of(executor, answer("502 Bad Gateway", "<html>", "Content-Type: text/html\r\n"));
  EXPECT_EQ(error.code, Errc::io_error);
  EXPECT_EQ(error.message, "what answers there is not skiffd: 502 Bad Gateway");
  error = co_await error_of(executor, answer("401 Unauthorized", R"({"message":"who are you?"})"));
  EXPECT_EQ(error.code, Errc::unauthenticated);
  EXPECT_EQ(error.message, "what answers there is not skiffd: 401 Unauthorized: who are you?");
  for (const std::string lie : {"[1]", "7", "\"text\"", "null", "true"}) {
    error = co_await error_of(executor, answer("200 OK", lie));
    EXPECT_EQ(error.message, "what answers there is not skiffd: its answer is not a JSON object") << lie;
  }
  error = co_await error_of(executor, answer("200 OK", "{nonsense"));
  EXPECT_TRUE(error.message.starts_with("what answers there is not skiffd: ")) << error.message;
  error = co_await error_of(executor, answer("200 OK", std::string(100'000, '[')));
  EXPECT_TRUE(error.message.starts_with("what answers there is not skiffd: ")) << error.message;
}

CO_TEST(AgentClient, NamesKeyOrClockAsTheReasonOfARefusedToken) {
  const std::string problem = "Content-Type: application/problem+json\r\n";
  const auto refused = [](std::string_view why) {
    return R"({"code":"unauthenticated","detail":"the token is not valid: )" + std::string{why} + "\"}";
  };
  Error error = co_await error_of(
      executor, answer("401 Unauthorized", refused("its signature is by none of the configured keys"), problem));
  EXPECT_EQ(error.code, Errc::unauthenticated);
  EXPECT_TRUE(error.message.contains("signing key") && error.message.contains("skiff start")) << error.message;
  error = co_await error_of(executor, answer("401 Unauthorized", refused("iat is in the future"),
                                             problem + "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"));
  EXPECT_TRUE(error.message.ends_with(" s behind this machine's")) << error.message;
  error = co_await error_of(executor, answer("401 Unauthorized", refused("it has expired"), problem));
  EXPECT_EQ(error.message, "the token is not valid: it has expired");
}

CO_TEST(AgentClient, RefusesErrorsOfWrongTypes) {
  const Error error =
      co_await error_of(executor, answer("500 Oops", R"({"code":7,"detail":[1],"title":{},"field":null})",
                                         "Content-Type: application/problem+json\r\n"));
  EXPECT_EQ(error.code, Errc::io_error);
}

CO_TEST(AgentClient, ReadsNoEndlessHead) {
  const Error error = co_await error_of(executor, "HTTP/1.1 200 OK\r\nX-Long: " + std::string(100'000, 'x'));
  EXPECT_EQ(error.code, Errc::invalid_request) << error.message;
  std::string many = "HTTP/1.1 200 OK\r\n";
  for (int i = 0; i < 10'000; ++i) many += "X-Some: thing\r\n";
  EXPECT_EQ((co_await error_of(executor, many)).code, Errc::invalid_request);
  std::string interim;
  for (int i = 0; i < 10'000; ++i) interim += "HTTP/1.1 102 Processing\r\n\r\n";
  EXPECT_EQ((co_await error_of(executor, interim)).code, Errc::invalid_request);
}

CO_TEST(AgentClient, ReadsNoBodyWhoseLengthsAreWrong) {
  const std::string head{kStreamHead};
  for (const std::string chunks :
       {"xyz\r\n{}\r\n0\r\n\r\n", "-2\r\n{}\r\n0\r\n\r\n", "2\r\n{}}}\r\n0\r\n\r\n", "ffffffffffffffffff\r\n{}",
        "7fffffffffffffff\r\n{}", "\r\n\r\n", "2{}\r\n0\r\n\r\n"}) {
    EXPECT_EQ((co_await error_of(executor, head + chunks)).code, Errc::invalid_request) << chunks;
  }
  EXPECT_EQ((co_await error_of(executor, "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n{}")).code,
            Errc::invalid_request);
  EXPECT_EQ((co_await error_of(executor, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}")).code,
            Errc::invalid_request);
  EXPECT_EQ((co_await error_of(executor, "SSH-2.0-OpenSSH_9.2\r\n\r\n")).code, Errc::invalid_request);
}

CO_TEST(AgentClient, AsksOnceMoreWhenAnAnswerIsCut) {
  const std::string head{kStreamHead};
  const std::string by_length = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{}";
  for (const std::string& cut : {head + "2\r\n{", head + "2\r\n{}\r\n", head, by_length}) {
    CannedAgent mended{executor, {{cut, true}, {answer("200 OK", R"({"name":"skiffd"})")}}};
    auto got = co_await mended.client.get("/v1/version");
    EXPECT_TRUE(got && text_at(*got, "name") == "skiffd") << cut;
    co_await mended.server.stop();
    CannedAgent broken{executor, {{cut, true}, {cut, true}}};
    got = co_await broken.client.get("/v1/version");
    EXPECT_TRUE(!got && is_broken_connection(got.error())) << cut;
    co_await broken.server.stop();
  }
  CannedAgent once{executor, {{by_length, true}}};
  auto posted = co_await once.client.post("/v1/lease", "{}");
  EXPECT_TRUE(!posted && is_broken_connection(posted.error())) << "what a POST does may have been done";
  co_await once.server.stop();
}

CO_TEST(AgentClient, ReadsNoAnswerThatIsTooLong) {
  EXPECT_EQ((co_await error_of(executor, "HTTP/1.1 200 OK\r\nContent-Length: 1099511627776\r\n\r\n{")).code,
            Errc::payload_too_large);
  const std::string page(100'000, 'x');
  EXPECT_EQ((co_await error_of(executor, answer("500 Oops", page))).code, Errc::payload_too_large) << "of an error";
}

CO_TEST(AgentClient, GathersTheItemsOfAllPages) {
  CannedAgent agent{executor,
                    {{answer("200 OK", R"({"items":[{"id":"a"}],"next_cursor":"x/y"})")},
                     {answer("200 OK", R"({"items":[],"next_cursor":"z"})")},
                     {answer("200 OK", R"({"items":[{"id":"b"}]})")}}};
  auto items = co_await agent.client.get_items("/v1/commands?limit=1");
  CO_ASSERT_TRUE(items.has_value()) << items.error().message;
  EXPECT_EQ(*items, (json{{{"id", "a"}}, {{"id", "b"}}}));
  EXPECT_TRUE(agent.server.requests().at(1).starts_with("GET /v1/commands?limit=1&cursor=x%2Fy HTTP"));
  co_await agent.server.stop();
}

/// The error of a list whose every page is `page`.
Task<std::string> error_of_items(Executor executor, std::string page) {
  fakes::LyingAgent agent{executor};
  agent.rest = [&](const protocol::HttpRequest&) { return protocol::HttpResponse{.body = page}; };
  AgentClient client{executor, agent.endpoint()};
  auto items = co_await client.get_items("/v1/commands");
  co_await agent.stop();
  co_return items ? items->dump() : items.error().message;
}

CO_TEST(AgentClient, GathersNoListThatIsNone) {
  EXPECT_EQ(co_await error_of_items(executor, R"({"items":{}})"),
            "what answers there is not skiffd: its list has no items");
  EXPECT_EQ(co_await error_of_items(executor, R"({"item":[]})"),
            "what answers there is not skiffd: its list has no items");
  EXPECT_EQ(co_await error_of_items(executor, R"({"items":[1]})"),
            "what answers there is not skiffd: an item of its list is not an object");
  EXPECT_EQ(co_await error_of_items(executor, R"({"items":[{}],"next_cursor":"again"})"),
            "what answers there is not skiffd: its list has no end");
}

TEST(AgentClient, TellsWhatAnotherConnectionMayMend) {
  EXPECT_TRUE(is_broken_connection({Errc::io_error, ""}));
  EXPECT_FALSE(is_broken_connection({Errc::invalid_request, ""}));
  EXPECT_EQ(command_path("a b", "c/d"), "/v1/sessions/a%20b/commands/c%2Fd");
}

}  // namespace
}  // namespace skiff::container
