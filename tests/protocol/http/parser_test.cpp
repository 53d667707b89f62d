#include "protocol/http/parser.hpp"

#include <gtest/gtest.h>

#include <string>

namespace skiff::protocol {
namespace {

constexpr HeadLimits kLimits{.header_bytes = 1000, .target_bytes = 100};

TEST(HeadScanner, FindsTheEndWhereverTheHeadIsCut) {
  constexpr std::string_view kHead = "GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n\r\n";
  const std::string bytes = std::string{kHead} + "body\n";
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    HeadScanner scanner{kLimits};
    const auto first = scanner.scan(std::string_view{bytes}.substr(0, cut));
    ASSERT_TRUE(first.has_value());
    EXPECT_EQ(*first, cut >= kHead.size() ? kHead.size() : 0) << cut;
    if (*first == 0) {
      EXPECT_EQ(scanner.scan(bytes).value(), kHead.size()) << cut;
    }
  }
}

TEST(HeadScanner, RefusesAsSoonAsALineIsBroken) {
  for (const std::string_view bytes :
       {"\n", "GET / HTTP/1.1\n", "GET / HTTP/1.1\r\n\n", "GET / HTTP/1.1\r\nA\rB\r\n", "\r\n"}) {
    HeadScanner scanner{kLimits};
    const auto found = scanner.scan(bytes);
    ASSERT_FALSE(found.has_value()) << bytes;
    EXPECT_EQ(found.error().status, 400u);
  }
}

TEST(HeadScanner, TakesBareLineFeedsWhereTheyMayBe) {
  constexpr HeadLimits kBare{.header_bytes = 1000, .target_bytes = 100, .bare_feeds = true};
  for (const std::string head : {"HTTP/1.1 200 OK\n\n", "HTTP/1.1 200 OK\nA: b\r\n\n", "HTTP/1.1 200 OK\r\nA: b\n\r\n",
                                 "HTTP/1.1 200\r\nA: b\r\n\r\n"}) {
    EXPECT_EQ(HeadScanner{kBare}.scan(head + "\n\nbody").value(), head.size()) << head;
    const std::string whole = with_returns(head);
    EXPECT_EQ(HeadScanner{kLimits}.scan(whole).value(), whole.size());
    EXPECT_TRUE(parse_response_head(whole, "GET").has_value()) << head;
  }
  for (const std::string_view bytes : {"HTTP/1.1 200 OK\nA\rB\n", "HTTP/1.1 200 OK\nA: b\r\r\n", "\n", "\r\n"}) {
    EXPECT_FALSE(HeadScanner{kBare}.scan(bytes).has_value()) << bytes;
  }
}

TEST(HeadScanner, BoundsTargetAndHeader) {
  const auto status_of = [](const std::string& bytes) {
    const auto found = HeadScanner{kLimits}.scan(bytes);
    return found ? 200u : found.error().status;
  };
  EXPECT_EQ(status_of("GET /" + std::string(200, 'a')), 414u);
  EXPECT_EQ(status_of("GET /" + std::string(200, 'a') + " HTTP/1.1\r\nA: b\r\n"), 414u);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nA: " + std::string(1000, 'a')), 431u);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nA: " + std::string(1000, 'a') + "\r\n\r\n"), 431u);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nA: " + std::string(900, 'a') + "\r\n\r\n"), 200u);
}

TEST(ParseRequestHead, SplitsAHead) {
  const auto request = parse_request_head(
      "PUT /a%20b?c=d HTTP/1.1\r\nHost: Box:7070\r\nX-A:  one \r\nContent-Length: 12\r\nConnection: close\r\n\r\n",
      100);
  ASSERT_TRUE(request.has_value());
  EXPECT_EQ(request->method, "PUT");
  EXPECT_EQ(request->target_text, "/a%20b?c=d");
  EXPECT_EQ(request->target.segments.at(0), "a b");
  EXPECT_EQ(request->host, "Box:7070");
  EXPECT_EQ(request->headers.get("x-a"), "one");
  EXPECT_EQ(request->headers.size(), 4u);
  EXPECT_EQ(request->body.kind, BodyFraming::Kind::length);
  EXPECT_EQ(request->body.length, 12u);
  EXPECT_FALSE(request->keep_alive);
}

TEST(ParseRequestHead, TakesManyFieldsAndALengthOfExabytes) {
  std::string head = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9999999999999999999\r\n";
  for (int i = 0; i < 500; ++i) head += "X-" + std::to_string(i) + ": " + std::string(40, 'v') + "\r\n";
  const auto request = parse_request_head(head + "\r\n", 100);
  ASSERT_TRUE(request.has_value()) << request.error().error.message;
  EXPECT_EQ(request->headers.size(), 502u);
  EXPECT_EQ(request->body.length, 9999999999999999999u);
}

TEST(ParseRequestHead, SaysWhatIsWrongWithTheLengthOfABody) {
  const auto why = [](std::string fields) {
    const auto request = parse_request_head("POST / HTTP/1.1\r\nHost: x\r\n" + fields + "\r\n\r\n", 100);
    return request ? "" : request.error().error.message;
  };
  const std::string both = "Content-Length and Transfer-Encoding are given together";
  EXPECT_EQ(why("Content-Length: 4\r\nTransfer-Encoding: chunked"), both);
  EXPECT_EQ(why("transfer-encoding: chunked\r\nX: y\r\ncontent-length: 4"), both);
  EXPECT_EQ(why("Content-Length: 4\r\nTransfer-Encoding: gzip"), both);
  EXPECT_EQ(why("Content-Length: 4\r\nContent-Length: 5"), "Content-Length is repeated");
  EXPECT_EQ(why("Content-Length: 4\r\nContent-Length: 4"), "Content-Length is repeated");
  EXPECT_EQ(why("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"), "Transfer-Encoding is repeated");
  EXPECT_EQ(why("Content-Length: 4, 4"), "Content-Length is not a number");
  EXPECT_EQ(why("Content-Length: +4"), "Content-Length is not a number");
  EXPECT_EQ(why("Content-Length:"), "Content-Length is not a number");
  EXPECT_EQ(why("Content-Length: 99999999999999999999"), "Content-Length is too large");
  EXPECT_EQ(why("Content-Length: \t 4 \t"), "");
  EXPECT_EQ(why("Transfer-Encoding:  Chunked "), "");
}

TEST(ParseResponseHead, KnowsWhereABodyEnds) {
  const auto kind = [](std::string_view head, std::string_view method) {
    const auto response = parse_response_head(head, method);
    EXPECT_TRUE(response.has_value()) << head;
    return response->body.kind;
  };
  using Kind = BodyFraming::Kind;
  EXPECT_EQ(kind("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", "GET"), Kind::length);
  EXPECT_EQ(kind("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", "HEAD"), Kind::none);
  EXPECT_EQ(kind("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "GET"), Kind::chunked);
  EXPECT_EQ(kind("HTTP/1.1 200 \r\n\r\n", "GET"), Kind::until_close);
  EXPECT_EQ(kind("HTTP/1.0 200\r\n\r\n", "GET"), Kind::until_close);
  EXPECT_EQ(kind("HTTP/1.1 204 No Content\r\n\r\n", "GET"), Kind::none);
  EXPECT_EQ(kind("HTTP/1.1 304 Not Modified\r\nContent-Length: 3\r\n\r\n", "GET"), Kind::none);
  EXPECT_EQ(kind("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", "GET"), Kind::none);
}

TEST(ParseResponseHead, RefusesWhatIsAmbiguous) {
  for (const std::string_view head :
       {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA : b\r\n\r\n", "HTTP/2 200 OK\r\n\r\n", "HTTP/1.1 20 OK\r\n\r\n",
        "HTTP/1.1 2000 OK\r\n\r\n", "HTTP/1.1 2x0\r\n\r\n", "HTTP/1.1 20\r\n\r\n", "HTTP/1.1\r\n\r\n",
        "HTTP/1.1 020 OK\r\n\r\n", "SSH-2.0-x\r\n\r\n", "HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n",
        "HTTP/1.1 200 O\x01K\r\n\r\n"}) {
    EXPECT_FALSE(parse_response_head(head, "GET").has_value()) << head;
  }
}

}  // namespace
}  // namespace skiff::protocol
