#include "protocol/http/origin.hpp"

#include <gtest/gtest.h>

#include <string>

namespace skiff::protocol {
namespace {

TEST(NormalOrigin, IsEqualForEqualOrigins) {
  EXPECT_EQ(normal_origin("HTTPS://Box.Example:443"), "https://box.example");
  EXPECT_EQ(normal_origin("http://box.example.:80"), "http://box.example");
  EXPECT_EQ(normal_origin("http://box:443"), "http://box:443");
  EXPECT_EQ(normal_origin("http://[FD00::1]:7070"), "http://[fd00::1]:7070");
}

TEST(NormalOrigin, IsOneOriginAndNothingElse) {
  for (const char* text : {"", "null", "box", "://box", "http://", "http://box/", "http://box?x", "http://user@box",
                           "http://box http://evil", "http://box,http://evil", "http://[::1", "http://box:port",
                           "http://box:123456", "http://box\\@evil", "http://b\xC3\xB6x"}) {
    EXPECT_EQ(normal_origin(text), std::nullopt) << text;
  }
}

TEST(IsOriginOf, ComparesSchemeHostAndPort) {
  EXPECT_TRUE(is_origin_of("http://box:7070", "http", "BOX:7070"));
  EXPECT_TRUE(is_origin_of("https://box", "https", "box:443"));
  for (const char* other : {"https://box:7070", "http://box", "http://box:7071", "http://abox:7070",
                            "http://box.a:7070", "http://a.box:7070", "null", ""}) {
    EXPECT_FALSE(is_origin_of(other, "http", "box:7070")) << other;
  }
  EXPECT_FALSE(is_origin_of("", "http", "")) << "two that are none are not equal";
}

}  // namespace
}  // namespace skiff::protocol
