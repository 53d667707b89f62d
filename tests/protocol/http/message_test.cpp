#include "protocol/http/message.hpp"

#include <gtest/gtest.h>

#include <ctime>

namespace skiff::protocol {
namespace {

TEST(Headers, KeepOrderAndCompareNamesWithoutCase) {
  Headers headers{{"A", "1"}, {"b", "2"}, {"a", "3"}};
  EXPECT_EQ(headers.wire(), "A: 1\r\nb: 2\r\na: 3\r\n");
  EXPECT_EQ(headers.get("B"), "2");
  EXPECT_EQ(headers.get("a"), "1");
  EXPECT_EQ(headers.count("A"), 2u);
  EXPECT_EQ(headers.find("c"), std::nullopt);
  std::string all;
  for (const auto [name, value] : headers) all += std::string{name} + "=" + std::string{value} + ";";
  EXPECT_EQ(all, "A=1;b=2;a=3;");
}

TEST(Headers, ReplaceRemoveAndJoin) {
  Headers headers{{"A", "1"}, {"B", "2"}, {"a", "3"}};
  headers.set("A", headers.get("B"));
  EXPECT_EQ(headers.wire(), "B: 2\r\nA: 2\r\n");
  headers.append({{"C", "4"}});
  EXPECT_EQ(headers.get("c"), "4");
  headers.remove("b");
  EXPECT_EQ(headers.wire(), "A: 2\r\nC: 4\r\n");
  EXPECT_EQ(headers[1].value, "4");
  headers.clear();
  EXPECT_TRUE(headers.empty());
}

TEST(Headers, FindTokensInLists) {
  const Headers headers{{"Connection", "keep-alive, Upgrade"}, {"connection", " TE "}};
  EXPECT_TRUE(headers.has_token("Connection", "upgrade"));
  EXPECT_TRUE(headers.has_token("Connection", "te"));
  EXPECT_FALSE(headers.has_token("Connection", "up"));
  EXPECT_FALSE(headers.has_token("Connection", ""));
}

TEST(Headers, LetNoValueEndALine) {
  Headers headers;
  headers.add("A\r\nB", std::string_view{"1\r\n\r\nx\0y\tz", 10});
  EXPECT_EQ(headers.wire(), "A  B: 1    x y\tz\r\n");
}

TEST(SerializeHead, NamesTheStatus) {
  EXPECT_EQ(serialize_head(404, {{"A", "b"}}), "HTTP/1.1 404 Not Found\r\nA: b\r\n\r\n");
  EXPECT_EQ(reason_phrase(421), "Misdirected Request");
  EXPECT_EQ(reason_phrase(507), "Insufficient Storage");
  EXPECT_EQ(reason_phrase(299), "Unknown");
  EXPECT_EQ(serialize_request_head("GET", "/a\r\nb", {}), "GET /a  b HTTP/1.1\r\n\r\n");
}

}  // namespace
}  // namespace skiff::protocol
