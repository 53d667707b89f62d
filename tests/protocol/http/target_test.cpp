#include "protocol/http/target.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skiff::protocol {
namespace {

using testing::ElementsAre;

TEST(Target, SplitsThePathAndDecodesEachSegmentOnce) {
  const Target target = Target::parse("/v1/files/a%20b/%252F/c%2Fd/").value();
  EXPECT_EQ(target.path, "/v1/files/a%20b/%252F/c%2Fd/");
  EXPECT_THAT(target.segments, ElementsAre("v1", "files", "a b", "%2F", "c/d", ""));
}

TEST(Target, LeavesDotsAsTheyAre) {
  EXPECT_THAT(Target::parse("/a/../b/./%2e%2E").value().segments, ElementsAre("a", "..", "b", ".", ".."));
}

TEST(Target, KeepsEmptySegments) {
  EXPECT_THAT(Target::parse("/").value().segments, ElementsAre(""));
  EXPECT_THAT(Target::parse("//a//").value().segments, ElementsAre("", "a", "", ""));
}

TEST(Target, GivesQueryParametersInOrder) {
  const Target target = Target::parse("/x?b=1&a=2&b=3&c&d=&&e=f=g").value();
  std::string all;
  for (const auto& [name, value] : target.query) all += name + ":" + value + " ";
  EXPECT_EQ(all, "b:1 a:2 b:3 c: d: e:f=g ");
  EXPECT_EQ(target.parameter("b"), "1");
  EXPECT_EQ(target.parameter("c"), "");
  EXPECT_EQ(target.parameter("z"), std::nullopt);
}

TEST(Target, TakesAPlusForASpaceInTheQueryOnly) {
  const Target target = Target::parse("/a+b?c+d=e+f%2Bg").value();
  EXPECT_THAT(target.segments, ElementsAre("a+b"));
  EXPECT_EQ(target.parameter("c d"), "e f+g");
}

TEST(Target, TakesAbsoluteUrlsAndAsterisk) {
  const Target target = Target::parse("HTTP://host:80/a?b=c").value();
  EXPECT_EQ(target.authority, "host:80");
  EXPECT_EQ(target.path, "/a");
  EXPECT_EQ(target.parameter("b"), "c");
  EXPECT_EQ(Target::parse("https://host").value().path, "/");
  EXPECT_THAT(Target::parse("http://host?a").value().segments, ElementsAre(""));
  EXPECT_EQ(Target::parse("*").value().path, "*");
}

TEST(Target, RefusesInvalidTargets) {
  for (const std::string_view text : {"", "a", "host:80", "ftp://host/", "http://", "http:///a", "http://u@h/", "/a#b",
                                      "/a b", "/\x7f", "/\n", "**"}) {
    const auto target = Target::parse(text);
    ASSERT_FALSE(target.has_value()) << text;
    EXPECT_EQ(target.error().code, Errc::invalid_request) << text;
  }
}

TEST(Target, KeepsUndecodableText) {
  for (const std::string_view text : {"/%", "/%4", "/%4g", "/%g4", "/%00", "/?a=%00", "/?%", "/?a=%f", "/?%00=b"}) {
    const auto target = Target::parse(text);
    ASSERT_TRUE(target.has_value()) << text;
    ASSERT_TRUE(target->fault.has_value()) << text;
    EXPECT_EQ(target->fault->code, Errc::invalid_request) << text;
  }
  const Target target = Target::parse("/a%00b/%41?x=100%&%79=%41&z=%00+").value();
  EXPECT_THAT(target.segments, ElementsAre("a%00b", "A"));
  EXPECT_EQ(target.parameter("x"), "100%");
  EXPECT_EQ(target.parameter("y"), "A");
  EXPECT_EQ(target.parameter("z"), "%00+");
  EXPECT_FALSE(Target::parse("/a%01?b=%2B%25").value().fault.has_value());
}

TEST(PercentEncode, IsUndoneByDecoding) {
  std::string all;
  for (int byte = 1; byte < 256; ++byte) all += static_cast<char>(byte);
  EXPECT_EQ(percent_decode(percent_encode(all)).value(), all);
  EXPECT_EQ(percent_encode("a/b c~"), "a%2Fb%20c~");
}

}  // namespace
}  // namespace skiff::protocol
