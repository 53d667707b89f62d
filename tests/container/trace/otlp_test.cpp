#include "container/trace/otlp.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/container/kube/canned_server.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container {
namespace {

using nlohmann::json;
using test::answer;
using test::CannedServer;

std::vector<SpanRecord> spans() {
  const auto tracer = std::make_shared<Tracer>(TraceSettings{});
  Span root = Tracer::root(tracer).begin("root");
  root.set("count", std::int64_t{7});
  Span child = root.here().begin("child", SpanKind::client);
  child.event("half", {{"text", "\xff is not UTF-8"}});
  child.fail({Errc::timeout, "late"});
  child.end();
  root.end();
  return tracer->ended();
}

TraceSettings settings_for(const CannedServer& server) {
  return {.collector = {.tls = false, .host = "127.0.0.1", .port = server.access().server.port, .path = "/v1/traces"},
          .headers = {},
          .resource = {{"service.name", "test"}}};
}

TEST(Otlp, IsTheJsonOfTheProtocol) {
  const auto sent = spans();
  const json request = json::parse(otlp_request({.resource = {{"service.name", "test"}}}, sent));
  const json& of = request.at("resourceSpans").at(0);
  EXPECT_EQ(of["resource"]["attributes"][0], (json{{"key", "service.name"}, {"value", {{"stringValue", "test"}}}}));
  EXPECT_EQ(of["scopeSpans"][0]["scope"]["name"], "skiff");
  const json& child = of["scopeSpans"][0]["spans"][0];
  const json& root = of["scopeSpans"][0]["spans"][1];
  EXPECT_EQ(child["kind"], 3);
  EXPECT_EQ(child["parentSpanId"], root["spanId"]);
  EXPECT_EQ(child["status"], (json{{"code", 2}, {"message", "late"}}));
  EXPECT_EQ(child["events"][0]["name"], "half");
  EXPECT_EQ(root["attributes"][0], (json{{"key", "count"}, {"value", {{"intValue", "7"}}}}));
  EXPECT_FALSE(root.contains("parentSpanId"));
  EXPECT_FALSE(root.contains("status"));
  EXPECT_TRUE(root["startTimeUnixNano"].is_string()) << "64 bits are text";
  EXPECT_LE(root["startTimeUnixNano"], root["endTimeUnixNano"]);
}

CO_TEST(Otlp, SendsOneRequestWithTheHeadersThatAreConfigured) {
  CannedServer server{executor, {{answer("200 OK", "{}")}}};
  TraceSettings to = settings_for(server);
  to.headers.add("api-key", "secret");
  const auto sent = co_await send_spans(executor, {}, std::move(to), spans());
  EXPECT_TRUE(sent) << sent.error().message;
  CO_ASSERT_TRUE(server.requests().size() == 1);
  const std::string& request = server.requests()[0];
  EXPECT_TRUE(request.starts_with("POST /v1/traces HTTP/1.1\r\n")) << request;
  EXPECT_NE(request.find("api-key: secret\r\n"), std::string::npos);
  EXPECT_NE(request.find("Content-Type: application/json\r\n"), std::string::npos);
  co_await server.stop();
}

CO_TEST(Otlp, AsksABusyCollectorAgain) {
  CannedServer server{executor, {{answer("503 Service Unavailable", "")}, {answer("200 OK", "{}")}}};
  const auto sent = co_await send_spans(executor, {}, settings_for(server), spans());
  EXPECT_TRUE(sent) << sent.error().message;
  EXPECT_TRUE(server.all_used());
  co_await server.stop();
}

CO_TEST(Otlp, TakesNoForAnAnswer) {
  CannedServer server{executor,
                      {{answer("400 Bad Request", "no")},
                       {answer("200 OK", R"({"partialSuccess":{"rejectedSpans":"2","errorMessage":"too old"}})")},
                       {answer("200 OK", R"({"partialSuccess":{}})")}}};
  auto sent = co_await send_spans(executor, {}, settings_for(server), spans());
  CO_ASSERT_TRUE(!sent);
  EXPECT_NE(sent.error().message.find("400"), std::string::npos) << sent.error().message;
  sent = co_await send_spans(executor, {}, settings_for(server), spans());
  CO_ASSERT_TRUE(!sent);
  EXPECT_NE(sent.error().message.find("too old"), std::string::npos) << sent.error().message;
  sent = co_await send_spans(executor, {}, settings_for(server), spans());
  EXPECT_TRUE(sent);
  co_await server.stop();
}

CO_TEST(Otlp, DoesNotWaitForACollectorThatIsAway) {
  TraceSettings to;
  {
    CannedServer server{executor, {}};
    to = settings_for(server);
    co_await server.stop();
  }
  const auto sent = co_await send_spans(executor, {}, to, spans());
  EXPECT_FALSE(sent);
}

}  // namespace
}  // namespace skiff::container
