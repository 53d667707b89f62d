#include "protocol/http/forward.hpp"

#include <gtest/gtest.h>

#include <string>

#include "protocol/http/parser.hpp"

namespace skiff::protocol {
namespace {

constexpr Forwarder kAgent{.name = "i-1", .peer = "10.0.0.7", .scheme = "http", .prefix = "/v1/ports/80"};

/// The forwarded fields of a request with `fields`, lines that end with CRLF.
Headers request_with(const std::string& fields, std::string_view first = "GET / HTTP/1.1") {
  const std::string head = std::string{first} + "\r\nHost: box:7070\r\n" + fields + "\r\n";
  const auto request = parse_request_head(head, 1000);
  EXPECT_TRUE(request.has_value()) << fields;
  return request ? forwarded_request(*request, kAgent) : Headers{};
}

Headers answer_with(const std::string& fields, std::string_view first = "HTTP/1.1 200 OK") {
  const auto answer = parse_response_head(std::string{first} + "\r\n" + fields + "\r\n", "GET");
  EXPECT_TRUE(answer.has_value()) << fields;
  return answer ? forwarded_answer(*answer) : Headers{};
}

std::string behind(const std::string& target, int parts = 3) {
  const auto request = parse_request_head("GET " + target + " HTTP/1.0\r\n\r\n", 1000);
  EXPECT_TRUE(request.has_value()) << target;
  return request ? target_behind(*request, parts) : std::string{};
}

TEST(PeerHost, IsTheAddressAlone) {
  EXPECT_EQ(peer_host("10.0.0.7:51234"), "10.0.0.7");
  EXPECT_EQ(peer_host("[2001:db8::1]:51234"), "2001:db8::1");
  EXPECT_EQ(peer_host("unix:"), "");
}

TEST(TargetBehind, IsByteForByteAsItWasSent) {
  EXPECT_EQ(behind("/v1/ports/80/"), "/");
  EXPECT_EQ(behind("/v1/ports/80/a%2Fb//c/../d;e?x=%20+&y?z"), "/a%2Fb//c/../d;e?x=%20+&y?z");
  EXPECT_EQ(behind("/v1/ports/80/?"), "/?");
  EXPECT_EQ(behind("/%76%31/ports/%38%30/x?/y"), "/x?/y");
  EXPECT_EQ(behind("http://elsewhere:1/v1/ports/80/x?y"), "/x?y");
}

TEST(TargetBehind, BeginsWithASlash) {
  EXPECT_EQ(behind("/s/box/80"), "/");
  EXPECT_EQ(behind("/s/box/80?a/b"), "/?a/b");
  EXPECT_EQ(behind("/a//b?c", 0), "/a//b?c");
}

TEST(ForwardedRequest, LeavesOutTheFieldsOfItsConnection) {
  const Headers fields = request_with(
      "Connection: keep-alive, X-Named\r\nX-Named: 1\r\nKeep-Alive: timeout=1\r\nProxy-Connection: keep-alive\r\n"
      "Proxy-Authorization: Basic eDp5\r\nTE: gzip\r\nUpgrade: h2c\r\nContent-Length: 0\r\nX-Stays: 1\r\n");
  for (const char* name : {"X-Named", "Keep-Alive", "Proxy-Connection", "Proxy-Authorization", "TE", "Upgrade",
                           "Content-Length", "Host", "Transfer-Encoding"}) {
    EXPECT_FALSE(fields.contains(name)) << name;
  }
  EXPECT_EQ(fields.get("X-Stays"), "1");
  EXPECT_EQ(fields.get("Connection"), "close");
}

TEST(ForwardedRequest, TakesUnderscoresForDashes) {
  const Headers fields = request_with("Transfer_Encoding: chunked\r\nx_forwarded-for: 6.6.6.6\r\nX_Own: 1\r\n");
  EXPECT_FALSE(fields.contains("Transfer_Encoding"));
  EXPECT_FALSE(fields.contains("x_forwarded-for"));
  EXPECT_EQ(fields.get("X_Own"), "1");
  EXPECT_FALSE(request_with("Connection: x-named\r\nX_Named: 1\r\n").contains("X_Named"));
}

TEST(ForwardedRequest, NamesItsClient) {
  const Headers first = request_with("Forwarded: for=6.6.6.6\r\n");
  EXPECT_FALSE(first.contains("Forwarded"));
  EXPECT_EQ(first.get("Via"), "1.1 i-1");
  EXPECT_EQ(first.get("X-Forwarded-For"), "10.0.0.7");
  EXPECT_EQ(first.get("X-Forwarded-Host"), "box:7070");
  EXPECT_EQ(first.get("X-Forwarded-Proto"), "http");
  EXPECT_EQ(first.get("X-Forwarded-Prefix"), "/v1/ports/80");
}

TEST(ForwardedRequest, KeepsFieldsOfAnotherForwarder) {
  const Headers second = request_with(
      "Via: 1.0 a\r\nVia: 1.1 b\r\nX-Forwarded-For: 1.1.1.1\r\nX-Forwarded-For: 2.2.2.2, 3.3.3.3\r\n"
      "X-Forwarded-Host: app\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Prefix:\r\n");
  EXPECT_EQ(second.get("Via"), "1.0 a, 1.1 b, 1.1 i-1");
  EXPECT_EQ(second.get("X-Forwarded-For"), "1.1.1.1, 2.2.2.2, 3.3.3.3, 10.0.0.7");
  EXPECT_EQ(second.count("X-Forwarded-For"), 1u);
  EXPECT_EQ(second.get("X-Forwarded-Host"), "app");
  EXPECT_EQ(second.get("X-Forwarded-Proto"), "https");
  EXPECT_EQ(second.find("X-Forwarded-Prefix"), std::optional<std::string_view>{""});
}

TEST(ForwardedRequest, CannotHideItsClient) {
  const Headers fields = request_with("Connection: X-Forwarded-For, Via, X-Forwarded-Host\r\n");
  EXPECT_EQ(fields.get("X-Forwarded-For"), "10.0.0.7");
  EXPECT_EQ(fields.get("X-Forwarded-Host"), "box:7070");
  EXPECT_EQ(fields.get("Via"), "1.1 i-1");
}

TEST(ForwardedRequest, TrustsNoFieldsBeforeTheFirstForwarder) {
  const auto request = parse_request_head(
      "GET / HTTP/1.1\r\nHost: box\r\nVia: 1.1 a\r\nX-Forwarded-For: 6.6.6.6\r\nX-Forwarded-Host: evil\r\n"
      "X-Forwarded-Proto: https\r\nX-Forwarded-Prefix: /evil\r\nX_Forwarded_For: 6.6.6.6\r\n\r\n",
      1000);
  ASSERT_TRUE(request.has_value());
  const Headers fields =
      forwarded_request(*request, {.name = "g-1", .peer = "10.0.0.7", .scheme = "http", .prefix = {}, .first = true});
  EXPECT_EQ(fields.get("Via"), "1.1 a, 1.1 g-1") << "it is how a request that goes round is known";
  EXPECT_EQ(fields.get("X-Forwarded-For"), "10.0.0.7");
  EXPECT_EQ(fields.get("X-Forwarded-Host"), "box");
  EXPECT_EQ(fields.get("X-Forwarded-Proto"), "http");
  EXPECT_FALSE(fields.contains("X-Forwarded-Prefix") || fields.contains("X_Forwarded_For"));
}

TEST(RemoveMembers, LeavesTheOthers) {
  const auto left = [](std::initializer_list<std::pair<std::string_view, std::string_view>> given) {
    Headers fields{given};
    remove_members(fields, "List", "our.");
    return std::string{fields.wire()};
  };
  EXPECT_EQ(left({{"List", "a, our.x ,b"}, {"Other", "our.y"}}), "Other: our.y\r\nList: a, b\r\n");
  EXPECT_EQ(left({{"List", "a"}, {"list", "our.x"}}), "List: a\r\n");
  EXPECT_EQ(left({{"List", "our.x"}}), "");
  EXPECT_EQ(left({{"List", "a ,b"}}), "List: a ,b\r\n") << "what holds none stays byte for byte";
}

TEST(ForwardedRequest, AsksForAnUpgradeWithoutABodyOnly) {
  const std::string upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\n";
  EXPECT_EQ(request_with(upgrade).get("Upgrade"), "websocket");
  EXPECT_EQ(request_with(upgrade).get("Connection"), "Upgrade");
  EXPECT_TRUE(request_with(upgrade + "Content-Length: 0\r\n", "POST / HTTP/1.1").contains("Upgrade"));
  EXPECT_FALSE(request_with(upgrade + "Content-Length: 1\r\n", "POST / HTTP/1.1").contains("Upgrade"));
  EXPECT_FALSE(request_with("Upgrade: websocket\r\n").contains("Upgrade")) << "Connection has to name it";
  EXPECT_FALSE(request_with(upgrade, "GET / HTTP/1.0").contains("Upgrade"));
}

TEST(ForwardedRequest, PassesExpectationsOfTrailersAndOfContinuing) {
  EXPECT_EQ(request_with("TE: trailers, gzip\r\n").get("TE"), "trailers");
  EXPECT_EQ(request_with("TE: trailers\r\n").get("Connection"), "close, TE");
  EXPECT_EQ(request_with("Expect: 100-continue\r\nContent-Length: 1\r\n", "PUT / HTTP/1.1").get("Expect"),
            "100-continue");
  EXPECT_FALSE(request_with("Expect: 100-continue\r\n").contains("Expect")) << "there is no body to wait for";
}

TEST(ForwardedRequest, TakesThousandsOfNames) {
  std::string fields = "Connection: close";
  for (int i = 0; i < 20'000; ++i) fields += ",x" + std::to_string(i);
  fields += "\r\n";
  for (int i = 0; i < 20'000; i += 2) fields += "x" + std::to_string(i + 10'000) + ": 1\r\n";
  const Headers kept = request_with(fields);
  EXPECT_FALSE(kept.contains("x10000"));
  EXPECT_FALSE(kept.contains("x19998"));
  EXPECT_TRUE(kept.contains("x20000"));
}

TEST(HasPassed, LooksForTheNameAlone) {
  EXPECT_TRUE(has_passed({{"Via", "1.1 other, 1.0 i-1 (comment)"}}, "i-1"));
  EXPECT_TRUE(has_passed({{"Via", "1.1 other"}, {"via", "HTTP/1.1 i-1"}}, "i-1"));
  EXPECT_FALSE(has_passed({{"Via", "1.1 i-10, 1.1 my-i-1, i-1x"}}, "i-1"));
  EXPECT_FALSE(has_passed({{"X-Via", "1.1 i-1"}}, "i-1"));
}

TEST(ForwardedAnswer, LeavesOutTheFieldsOfItsConnection) {
  const Headers fields = answer_with(
      "Connection: close, X-Hop\r\nX-Hop: 1\r\nKeep-Alive: x\r\nProxy-Authenticate: Basic\r\nUpgrade: h2c\r\n"
      "Content-Length: 0\r\nTrailer: X-Sum\r\nSet-Cookie: a\r\nSet-Cookie: b\r\n");
  for (const char* name : {"Connection", "X-Hop", "Keep-Alive", "Proxy-Authenticate", "Upgrade", "Content-Length"}) {
    EXPECT_FALSE(fields.contains(name)) << name;
  }
  EXPECT_EQ(fields.get("Trailer"), "X-Sum");
  EXPECT_EQ(fields.count("Set-Cookie"), 2u);
}

TEST(ForwardedAnswer, KeepsTheUpgradeOfA101) {
  const Headers fields =
      answer_with("Connection: upgrade\r\nUpgrade: websocket\r\nX: 1\r\n", "HTTP/1.1 101 Switching Protocols");
  EXPECT_EQ(fields.get("Upgrade"), "websocket");
  EXPECT_EQ(fields.get("Connection"), "Upgrade");
  EXPECT_EQ(fields.get("X"), "1");
}

TEST(ForwardedTrailers, FrameAndRouteNothing) {
  const Headers fields = forwarded_trailers({{"X-Sum", "1"},
                                             {"Content-Length", "1"},
                                             {"Transfer-Encoding", "chunked"},
                                             {"Host", "x"},
                                             {"Connection", "X-Hop"},
                                             {"X-Hop", "1"},
                                             {"X-Forwarded-For", "6.6.6.6"}});
  EXPECT_EQ(fields.wire(), "X-Sum: 1\r\n");
}

}  // namespace
}  // namespace skiff::protocol
