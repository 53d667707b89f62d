#include "container/trace/span_export.hpp"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <nlohmann/json.hpp>

#include "base/async/deadline.hpp"
#include "tests/container/kube/canned_server.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container {
namespace {

using nlohmann::json;
using test::answer;
using test::CannedServer;

constexpr std::size_t kMostWaiting = 2048;
constexpr std::size_t kBatch = 512;

TraceSettings settings_to(const CannedServer& server) {
  return {.collector = {.tls = false, .host = "127.0.0.1", .port = server.access().server.port, .path = "/v1/traces"},
          .headers = {},
          .timeout = std::chrono::seconds{20}};
}

/// The spans of a request to the collector.
json spans_of(const std::string& request) {
  const json body = json::parse(request.substr(request.find("\r\n\r\n") + 4));
  return body.at("resourceSpans").at(0).at("scopeSpans").at(0).at("spans");
}

CO_TEST(SpanExport, SendsWhatHasEndedWithoutBeingAsked) {
  CannedServer server{executor, {{answer("200 OK", "{}")}, {answer("200 OK", "{}")}}};
  SpanExport spans{executor, {}, settings_to(server)};
  spans.start();
  {
    Span request = spans.begin("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01").begin("request");
    Span part = request.here().begin("part");
  }
  while (server.requests().empty()) co_await pause(std::chrono::milliseconds{5});
  const json sent = spans_of(server.requests()[0]);
  CO_ASSERT_TRUE(sent.size() == 2);
  EXPECT_EQ(sent[0]["name"], "part");
  EXPECT_EQ(sent[0]["parentSpanId"], sent[1]["spanId"]);
  EXPECT_EQ(sent[1]["parentSpanId"], "00f067aa0ba902b7");
  EXPECT_EQ(sent[1]["traceId"], "4bf92f3577b34da6a3ce929d0e0e4736");
  spans.begin("not a parent").begin("another").end();
  co_await spans.stop();
  CO_ASSERT_TRUE(server.requests().size() == 2);
  EXPECT_FALSE(spans_of(server.requests()[1])[0].contains("parentSpanId"));
  EXPECT_EQ(spans.lost(), 0U);
  co_await server.stop();
}

CO_TEST(SpanExport, KeepsNoMoreThanItsQueueAndSendsThatInParts) {
  CannedServer server{
      executor,
      {{answer("200 OK", "{}")}, {answer("200 OK", "{}")}, {answer("200 OK", "{}")}, {answer("200 OK", "{}")}}};
  SpanExport spans{executor, {}, settings_to(server)};
  for (std::size_t i = 0; i < kMostWaiting + 10; ++i) spans.begin({}).begin("one").set("text", std::string(5000, 'x'));
  EXPECT_EQ(spans.lost(), 10U);
  spans.start();
  co_await spans.stop();
  CO_ASSERT_TRUE(server.requests().size() == kMostWaiting / kBatch);
  for (const std::string& request : server.requests()) {
    const json sent = spans_of(request);
    EXPECT_EQ(sent.size(), kBatch);
    EXPECT_EQ(sent[0]["attributes"][0]["value"]["stringValue"].get<std::string>().size(), 1024U);
  }
  co_await server.stop();
}

CO_TEST(SpanExport, LosesWhatACollectorDoesNotTake) {
  CannedServer server{executor, {{answer("400 Bad Request", "no")}, {answer("200 OK", "{}")}}};
  SpanExport spans{executor, {}, settings_to(server)};
  spans.start();
  spans.begin({}).begin("refused").end();
  while (spans.lost() == 0) co_await pause(std::chrono::milliseconds{5});
  spans.begin({}).begin("taken").end();
  co_await spans.stop();
  EXPECT_EQ(spans.lost(), 1U);
  EXPECT_TRUE(server.all_used());
  co_await server.stop();
}

CO_TEST(SpanExport, WaitsForADeafCollectorNoLongerThanItsTime) {
  // The test accepts none of its connections.
  const auto deaf = protocol::Listener::open(executor, protocol::Address::ip("127.0.0.1", 0).value()).value();
  TraceSettings settings{
      .collector = {.tls = false, .host = "127.0.0.1", .port = deaf->address().port(), .path = "/v1/traces"},
      .headers = {},
      .timeout = std::chrono::milliseconds{50}};
  SpanExport spans{executor, {}, std::move(settings)};
  spans.start();
  spans.begin({}).begin("one").end();
  Span late = spans.begin({}).begin("late");
  co_await spans.stop();
  EXPECT_EQ(spans.lost(), 1U);
}

TEST(SpanExport, MayGoBeforeItsSpans) {
  boost::asio::io_context io;
  Span late;
  {
    const SpanExport spans{io.get_executor(), {}, {}};
    late = spans.begin({}).begin("late");
  }
  late.end();
}

}  // namespace
}  // namespace skiff::container
