#include "container/kube/transport.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "container/net/time.hpp"
#include "tests/base/gzip_bytes.hpp"
#include "tests/container/kube/canned_server.hpp"
#include "tests/protocol/net/test_certificate.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::kube {
namespace {

using protocol::HttpClient;
using test::answer;
using test::CannedServer;
using test::OpenTransport;

Task<std::string> body_of(Transport* transport, Call call) {
  auto reply = co_await transport->send(std::move(call));
  co_return reply ? reply->body : "failed: " + reply.error().error.message;
}

CO_TEST(Transport, SendsCredentialsAndTheServersOwnPath) {
  CannedServer server{executor, {{answer("200 OK", "{}")}}};
  Access access = server.access();
  access.server.path = "/k8s/clusters/c-1";
  access.identity.token = "abc";
  const OpenTransport open{executor, std::move(access)};
  EXPECT_EQ(co_await body_of(open.transport.get(), {.target = "/version", .what = "ask"}), "{}");
  const std::string& request = server.requests().at(0);
  EXPECT_EQ(request.find("GET /k8s/clusters/c-1/version HTTP/1.1\r\n"), 0u) << request;
  EXPECT_NE(request.find("Authorization: Bearer abc\r\n"), std::string::npos);
  EXPECT_NE(request.find("Accept: application/json, */*\r\n"), std::string::npos);
  EXPECT_NE(request.find("Accept-Encoding: gzip\r\n"), std::string::npos);
  co_await server.stop();
}

CO_TEST(Transport, KeepsItsConnection) {
  CannedServer server{executor, {{answer("200 OK", "1")}, {answer("404 Not Found", "no")}, {answer("200 OK", "3")}}};
  const OpenTransport open{executor, server.access()};
  EXPECT_EQ(co_await body_of(open.transport.get(), {.target = "/", .what = "ask"}), "1");
  EXPECT_EQ(co_await body_of(open.transport.get(), {.target = "/", .what = "ask"}), "failed: ask: no (404)");
  EXPECT_EQ(co_await body_of(open.transport.get(), {.target = "/", .what = "ask"}), "3");
  EXPECT_EQ(server.connections(), 1);
  co_await server.stop();
}

CO_TEST(Transport, LearnsTheClockOfTheServer) {
  CannedServer server{executor,
                      {{answer("200 OK", "1", "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n")}, {answer("200 OK", "2")}}};
  const OpenTransport open{executor, server.access()};
  EXPECT_GE(open.transport->server_now(), wall_now() - std::chrono::minutes{1}) << "it is ours before an answer";
  EXPECT_EQ(co_await body_of(open.transport.get(), {.target = "/", .what = "ask"}), "1");
  EXPECT_EQ(co_await body_of(open.transport.get(), {.target = "/", .what = "ask"}), "2");
  const WallTime then = *net::parse_time("1994-11-06T08:49:37Z");
  EXPECT_GE(open.transport->server_now(), then - std::chrono::minutes{1});
  EXPECT_LE(open.transport->server_now(), then + std::chrono::minutes{1});
  co_await server.stop();
}

CO_TEST(Transport, WaitsWhenTheQueuesAreFull) {
  // As API priority and fairness does it: text, Retry-After, and the end of the connection.
  const std::string full = answer("429 Too Many Requests", "Too many requests, please try again later.\n",
                                  "Content-Type: text/plain\r\nRetry-After: 0\r\nConnection: close\r\n");
  CannedServer server{executor, {{full, true}, {full, true}, {answer("201 Created", "made")}}};
  const OpenTransport open{executor, server.access()};
  Call call{.method = "POST", .target = "/", .what = "create", .body = "{}", .repeatable = false};
  EXPECT_EQ(co_await body_of(open.transport.get(), std::move(call)), "made");
  EXPECT_EQ(server.connections(), 3);
  co_await server.stop();
}

CO_TEST(Transport, SaysThatAnUnansweredRequestMayHaveHappened) {
  CannedServer server{executor, {{answer("200 OK", "{}")}, {"", true}}};
  const OpenTransport open{executor, server.access()};
  EXPECT_EQ(co_await body_of(open.transport.get(), {.target = "/", .what = "ask"}), "{}");
  Call call{.method = "POST", .target = "/", .what = "create", .body = "{}", .repeatable = false};
  auto reply = co_await open.transport->send(std::move(call));
  CO_ASSERT_TRUE(!reply.has_value());
  EXPECT_TRUE(reply.error().may_have_happened);
  EXPECT_EQ(reply.error().status.code, 0u);
  EXPECT_TRUE(server.all_used()) << "it must not be sent twice";
  co_await server.stop();
}

CO_TEST(Transport, SendsAnUnansweredRequestAgainIfThatDoesNoHarm) {
  CannedServer server{executor,
                      {{answer("200 OK", "1")},
                       {"", true},
                       {"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"},
                       {answer("200 OK", "2")}}};
  const OpenTransport open{executor, server.access()};
  EXPECT_EQ(co_await body_of(open.transport.get(), {.target = "/", .what = "ask"}), "1");
  EXPECT_EQ(co_await body_of(open.transport.get(), {.method = "PATCH", .target = "/", .what = "apply", .body = "{}"}),
            "2");
  co_await server.stop();
}

CO_TEST(Transport, AsksForNewCredentialsOnceWhenTheyAreRefused) {
  const test::TemporaryDirectory directory;
  const std::string refused =
      answer("401 Unauthorized", R"({"kind":"Status","message":"Unauthorized","reason":"Unauthorized"})");
  CannedServer server{executor, {{answer("200 OK", "1")}, {refused}, {answer("200 OK", "2")}, {refused}, {refused}}};
  Access access = server.access();
  access.identity.token_file = directory.write("token", "old");
  const OpenTransport open{executor, std::move(access)};
  EXPECT_EQ(co_await body_of(open.transport.get(), {.target = "/", .what = "ask"}), "1");
  directory.write("token", "new");
  EXPECT_EQ(co_await body_of(open.transport.get(), {.target = "/", .what = "ask"}), "2");
  EXPECT_NE(server.requests().at(1).find("Bearer old"), std::string::npos);
  EXPECT_NE(server.requests().at(2).find("Bearer new"), std::string::npos);
  EXPECT_EQ(co_await body_of(open.transport.get(), {.target = "/", .what = "ask"}),
            "failed: ask: Unauthorized (Unauthorized, 401)");
  co_await server.stop();
}

CO_TEST(Transport, AsksForNewCredentialsForAStreamToo) {
  const test::TemporaryDirectory directory;
  const std::string refused =
      answer("401 Unauthorized", R"({"kind":"Status","message":"Unauthorized","reason":"Unauthorized"})");
  CannedServer server{executor,
                      {{answer("200 OK", "1")}, {refused}, {std::string{test::kStreamHead}}, {refused}, {refused}}};
  Access access = server.access();
  access.identity.token_file = directory.write("token", "old");
  const OpenTransport open{executor, std::move(access)};
  EXPECT_EQ(co_await body_of(open.transport.get(), {.target = "/", .what = "ask"}), "1");
  directory.write("token", "new");
  {
    auto stream = co_await open.transport->stream({.target = "/", .what = "watch"}, std::chrono::seconds{10});
    EXPECT_TRUE(stream.has_value()) << stream.error().error.message;
  }
  EXPECT_NE(server.requests().at(1).find("Bearer old"), std::string::npos);
  EXPECT_NE(server.requests().at(2).find("Bearer new"), std::string::npos) << server.requests().at(2);
  auto stream = co_await open.transport->stream({.target = "/", .what = "watch"}, std::chrono::seconds{10});
  CO_ASSERT_TRUE(!stream.has_value());
  EXPECT_EQ(stream.error().error.message, "watch: Unauthorized (Unauthorized, 401)");
  EXPECT_TRUE(server.all_used()) << "asked anew once, and no more";
  co_await server.stop();
}

CO_TEST(Transport, UnpacksAnswers) {
  const std::string_view packed = "Content-Encoding: gzip\r\n";
  const std::string status = R"({"kind":"Status","message":"no","reason":"Forbidden"})";
  CannedServer server{executor,
                      {{answer("200 OK", test::gzip_bytes("text"), packed)},
                       {answer("403 Forbidden", test::gzip_bytes(status), packed)},
                       {answer("200 OK", "not packed", packed)},
                       {answer("200 OK", test::gzip_bytes(std::string(5'000, 'a')), packed)}}};
  TransportOptions options = test::quick();
  options.answer_bytes = 4'999;
  const OpenTransport open{executor, server.access(), std::move(options)};
  EXPECT_EQ(co_await body_of(open.transport.get(), {.target = "/", .what = "ask"}), "text");
  EXPECT_EQ(co_await body_of(open.transport.get(), {.target = "/", .what = "ask"}), "failed: ask: no (Forbidden, 403)");
  EXPECT_EQ(co_await body_of(open.transport.get(), {.target = "/", .what = "ask"}),
            "failed: ask: the API server's answer: its gzip is damaged");
  EXPECT_EQ(co_await body_of(open.transport.get(), {.target = "/", .what = "ask"}),
            "failed: ask: the API server's answer: it is too large unpacked");
  co_await server.stop();
}

CO_TEST(Transport, GoesOnForAsLongAsSomebodyWaits) {
  const std::string busy = answer("503 Service Unavailable", "later");
  CannedServer server{executor, {{busy}, {busy}, {busy}, {busy}, {answer("200 OK", "there")}}};
  TransportOptions options = test::quick();
  options.retry.all = std::chrono::milliseconds{0};
  options.retry.attempts = 100;
  const OpenTransport open{executor, server.access(), std::move(options)};
  EXPECT_EQ(co_await body_of(open.transport.get(), {.target = "/", .what = "ask"}), "failed: ask: later (503)");
  {
    const auto waiting = open.transport->wait_until(std::chrono::steady_clock::now() + std::chrono::hours{1});
    const auto shorter = open.transport->wait_until(SteadyTime{});
    EXPECT_EQ(co_await body_of(open.transport.get(), {.target = "/", .what = "ask"}), "there");
  }
  EXPECT_EQ(open.transport->waited_for(), SteadyTime{});
  co_await server.stop();
}

CO_TEST(Transport, SaysThatAnEarlierTryMayHaveHappened) {
  CannedServer server{executor,
                      {{answer("500 Oops", R"({"kind":"Status","message":"etcdserver: leader changed"})")},
                       {answer("409 Conflict", R"({"kind":"Status","reason":"AlreadyExists","message":"there"})")}}};
  const OpenTransport open{executor, server.access()};
  auto reply = co_await open.transport->send({.method = "POST", .target = "/", .what = "create", .body = "{}"});
  CO_ASSERT_TRUE(!reply.has_value());
  EXPECT_TRUE(reply.error().already_exists());
  EXPECT_TRUE(reply.error().may_have_happened);
  co_await server.stop();
}

CO_TEST(Transport, HandsWarningsOn) {
  CannedServer server{
      executor,
      {{answer("200 OK", "{}", "Warning: 299 - \"old API\"\r\nWarning: 299 - \"unknown field \\\"a\\\"\"\r\n")}}};
  std::vector<std::string> warnings;
  TransportOptions options = test::quick();
  options.warn = [&](std::string_view text) { warnings.emplace_back(text); };
  const OpenTransport open{executor, server.access(), std::move(options)};
  EXPECT_EQ(co_await body_of(open.transport.get(), {.target = "/", .what = "ask"}), "{}");
  EXPECT_EQ(warnings, (std::vector<std::string>{"old API", "unknown field \"a\""}));
  co_await server.stop();
}

CO_TEST(Transport, SaysEachWarningOnce) {
  const std::string warned = answer("200 OK", "{}", "Warning: 299 - \"old API\"\r\n");
  CannedServer server{executor, {{warned}, {warned}, {answer("200 OK", "{}", "Warning: 299 - \"other\"\r\n")}}};
  std::vector<std::string> warnings;
  TransportOptions options = test::quick();
  options.warn = [&](std::string_view text) { warnings.emplace_back(text); };
  const OpenTransport open{executor, server.access(), std::move(options)};
  for (int i = 0; i < 3; ++i) (void)co_await body_of(open.transport.get(), {.target = "/", .what = "ask"});
  EXPECT_EQ(warnings, (std::vector<std::string>{"old API", "other"}));
  co_await server.stop();
}

CO_TEST(Transport, TellsOfEachRequestAndHowItWent) {
  CannedServer server{
      executor,
      {{answer("503 Service Unavailable", "later", "Retry-After: 0\r\n")}, {answer("200 OK", "{}")}, {"", true}}};
  std::vector<std::string> told;
  TransportOptions options = test::quick();
  options.tell = [&](const Exchanged& one) {
    EXPECT_GE(one.took.count(), 0);
    told.push_back(std::string{one.method} + " " + one.url + " " + std::to_string(one.status));
  };
  Access access = server.access();
  access.server.path = "/k8s";
  const std::string url = access.server.text() + "/k8s/version?a=b";
  const OpenTransport open{executor, std::move(access), std::move(options)};
  EXPECT_EQ(co_await body_of(open.transport.get(), {.target = "/version?a=b", .what = "ask"}), "{}");
  (void)co_await open.transport->send({.method = "POST", .target = "/version?a=b", .what = "ask", .repeatable = false});
  EXPECT_EQ(told, (std::vector<std::string>{"GET " + url + " 503", "GET " + url + " 200", "POST " + url + " 0"}));
  co_await server.stop();
}

CO_TEST(Transport, SaysAtOnceThatNobodyIsThere) {
  auto listener = protocol::Listener::open(executor, protocol::Address::ip("127.0.0.1", 0).value()).value();
  Access access{.origin = "context \"x\" of f",
                .server = {.tls = false, .host = "127.0.0.1", .port = listener->address().port()}};
  listener.reset();
  const std::string where = access.server.text();
  const OpenTransport open{executor, std::move(access)};
  auto reply = co_await open.transport->send({.target = "/version", .what = "ask for the version"});
  CO_ASSERT_TRUE(!reply.has_value());
  EXPECT_FALSE(reply.error().may_have_happened);
  EXPECT_EQ(reply.error().error.message.find("ask for the version: the API server " + where +
                                             " (context \"x\" of f) can't be reached: connect to "),
            0u)
      << reply.error().error.message;
}

CO_TEST(Transport, RefusesCertificatesThatAreNoUse) {
  const auto one = test::make_certificate();
  const auto other = test::make_certificate();
  const auto pool = std::make_shared<BlockingPool>("test", 1);
  Access access{.origin = "f", .server = {.host = "a", .port = 1}};
  access.identity = {.certificate_pem = one.certificate_pem, .key_pem = other.key_pem};
  EXPECT_FALSE(Transport::open(executor, pool, access).has_value());
  access.identity = {};
  access.ca_pem = "nonsense";
  EXPECT_EQ(Transport::open(executor, pool, access).error().message.find("f: "), 0u);
  co_return;
}

/// A real TLS server that answers every request with "{}".
Task<> answer_empty(protocol::HttpExchange& exchange) {
  auto sent = co_await exchange.respond({.body = "{}"});
  EXPECT_TRUE(sent.has_value());
}

struct TlsServer {
  explicit TlsServer(Executor executor)
      : context{protocol::TlsContext::server({.certificate_file = directory.write("cert", certificate.certificate_pem),
                                              .key_file = directory.write("key", certificate.key_pem)})
                    .value()},
        server{executor, answer_empty, {}, context} {}
  Task<> stop() { return server.server.stop(); }
  [[nodiscard]] Access access(std::string ca) const {
    return {.origin = "f", .server = {.host = "127.0.0.1", .port = server.address.port()}, .ca_pem = std::move(ca)};
  }
  test::TemporaryDirectory directory;
  test::Certificate certificate = test::make_certificate();
  std::shared_ptr<protocol::TlsContext> context;
  test::TestServer server;
};

CO_TEST(Transport, TrustsOnlyTheClustersOwnAuthority, TlsServer& server) {
  {
    const OpenTransport open{executor, server.access(server.certificate.certificate_pem)};
    EXPECT_EQ(co_await body_of(open.transport.get(), {.target = "/", .what = "ask"}), "{}");
    const OpenTransport other{executor, server.access(test::make_certificate().certificate_pem)};
    const std::string refused = co_await body_of(other.transport.get(), {.target = "/", .what = "ask"});
    EXPECT_NE(refused.find("is not the one that the kubeconfig trusts"), std::string::npos) << refused;
    Access named = server.access(server.certificate.certificate_pem);
    named.tls_server_name = "other.test";
    const OpenTransport misnamed{executor, named};
    EXPECT_NE((co_await body_of(misnamed.transport.get(), {.target = "/", .what = "ask"})).find("mismatch"),
              std::string::npos);
    named.insecure_skip_tls_verify = true;
    const OpenTransport insecure{executor, named};
    EXPECT_EQ(co_await body_of(insecure.transport.get(), {.target = "/", .what = "ask"}), "{}");
  }
}

CO_TEST(Transport, LetsTheHttpOfOthersPass, TlsServer& server) {
  {
    const OpenTransport open{executor, server.access(server.certificate.certificate_pem)};
    HttpClient client{executor, open.transport->passage()};
    auto reply = co_await client.request({.target = "/healthz"});
    CO_ASSERT_TRUE(reply.has_value()) << reply.error().message;
    EXPECT_EQ(reply->body, "{}");
  }
}

}  // namespace
}  // namespace skiff::kube
