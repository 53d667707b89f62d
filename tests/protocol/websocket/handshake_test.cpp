#include "protocol/websocket/handshake.hpp"

#include <map>

#include <gtest/gtest.h>

namespace skiff::protocol {
namespace {

using Headers = std::map<std::string, std::string, std::less<>>;

HeaderLookup lookup_of(Headers headers) {
  return [headers = std::move(headers)](std::string_view name) {
    const auto found = headers.find(name);
    return found == headers.end() ? std::string{} : found->second;
  };
}

const Headers kGoodUpgrade{{"upgrade", "websocket"},
                           {"connection", "Upgrade"},
                           {"sec-websocket-version", "13"},
                           {"sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="}};

Headers with(std::string name, std::string value) {
  Headers headers = kGoodUpgrade;
  headers[std::move(name)] = std::move(value);
  return headers;
}

TEST(WebSocketHandshake, AnswersTheKeyOfTheStandardsExample) {
  EXPECT_EQ(websocket_accept("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
  EXPECT_EQ(accept_websocket("GET", lookup_of(kGoodUpgrade)).value(), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

TEST(WebSocketHandshake, TakesWhatBrowsersAndProxiesSend) {
  EXPECT_TRUE(accept_websocket("GET", lookup_of(with("connection", "keep-alive, Upgrade"))));
  EXPECT_TRUE(accept_websocket("GET", lookup_of(with("upgrade", "WebSocket"))));
  EXPECT_TRUE(accept_websocket("GET", lookup_of(with("upgrade", "h2c, websocket"))));
  EXPECT_TRUE(accept_websocket("GET", lookup_of(with("connection", ",\tupgrade ,"))));
}

TEST(WebSocketHandshake, RefusesInvalidUpgrades) {
  const auto code = [](std::string_view method, const Headers& headers) {
    return accept_websocket(method, lookup_of(headers)).error().code;
  };
  EXPECT_EQ(code("GET", {}), Errc::upgrade_required);
  EXPECT_EQ(code("GET", with("upgrade", "h2c")), Errc::upgrade_required);
  EXPECT_EQ(code("GET", with("upgrade", "websockets")), Errc::upgrade_required);
  EXPECT_EQ(code("GET", with("connection", "close")), Errc::upgrade_required);
  EXPECT_EQ(code("GET", with("sec-websocket-version", "8")), Errc::upgrade_required);
  EXPECT_EQ(code("GET", with("sec-websocket-version", "")), Errc::upgrade_required);
  EXPECT_EQ(code("POST", kGoodUpgrade), Errc::invalid_request);
  for (const std::string key : {"", "short", "dGhlIHNhbXBsZSBub25jZQ",
                                "dGhlIHNhbXBsZSBub25jZSE=", "dGhlIHNhbXBsZSBub25j", "!!!!IHNhbXBsZSBub25jZQ=="}) {
    EXPECT_EQ(code("GET", with("sec-websocket-key", key)), Errc::invalid_request) << key;
  }
}

TEST(WebSocketHandshake, ChoosesTheFirstOfferedSubprotocolThatItKnows) {
  const auto offered = offered_subprotocols(" skiff.bearer.abc , skiff.v1.binary,,skiff.v1.json");
  ASSERT_TRUE(offered);
  EXPECT_EQ(offered->size(), 3U);
  EXPECT_EQ(choose_subprotocol(*offered, {"skiff.v1.json", "skiff.v1.binary"}), "skiff.v1.binary");
  EXPECT_EQ(choose_subprotocol(*offered, {"other"}), "");
  EXPECT_TRUE(offered_subprotocols("")->empty());
  EXPECT_FALSE(offered_subprotocols("a, b c"));
  EXPECT_FALSE(offered_subprotocols("a/b"));
  EXPECT_FALSE(offered_subprotocols("\"a\""));
}

TEST(WebSocketHandshake, ClientAndServerAgree) {
  const ClientHandshake client{{"a", "b"}};
  Headers request;
  for (const auto& [name, value] : client.headers()) {
    std::string lower = name;
    for (char& c : lower) c = static_cast<char>(std::tolower(c));
    request[lower] = value;
  }
  EXPECT_EQ(request["sec-websocket-protocol"], "a, b");
  const auto accept = accept_websocket("GET", lookup_of(request));
  ASSERT_TRUE(accept) << accept.error().message;
  const Headers answer{{"upgrade", "WebSocket"},
                       {"connection", "upgrade"},
                       {"sec-websocket-accept", *accept},
                       {"sec-websocket-protocol", "b"}};
  EXPECT_EQ(client.check(101, lookup_of(answer)).value(), "b");
  const auto fails = [&](unsigned status, std::string name, std::string value) {
    Headers changed = answer;
    changed[std::move(name)] = std::move(value);
    return !client.check(status, lookup_of(changed));
  };
  EXPECT_TRUE(fails(200, "x", ""));
  EXPECT_TRUE(fails(101, "upgrade", "h2c"));
  EXPECT_TRUE(fails(101, "connection", "close"));
  EXPECT_TRUE(fails(101, "sec-websocket-accept", websocket_accept("other")));
  EXPECT_TRUE(fails(101, "sec-websocket-protocol", "c"));
  EXPECT_TRUE(fails(101, "sec-websocket-extensions", "permessage-deflate"));
  EXPECT_NE(ClientHandshake{}.headers()[2].second, ClientHandshake{}.headers()[2].second);
}

}  // namespace
}  // namespace skiff::protocol
