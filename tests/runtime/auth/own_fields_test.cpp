#include "runtime/auth/own_fields.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <utility>

namespace skiff::runtime {
namespace {

using protocol::Headers;

/// The remaining fields of a request at an agent that accepts "alpha" and "beta".
std::string left_of(std::initializer_list<std::pair<std::string_view, std::string_view>> fields) {
  Authenticator who{"box-1"};
  for (const std::string_view token : {"alpha", "beta"}) who.add(TokenEntry{.digest = digest_of(token)});
  Headers headers{fields};
  remove_own_fields(headers, who);
  return std::string{headers.wire()};
}

bool own(std::initializer_list<std::pair<std::string_view, std::string_view>> fields) {
  const Headers headers{fields};
  return has_own_field(credential_headers(headers));
}

TEST(HasOwnField, IsTrueForFieldsOfTheAgentOnly) {
  EXPECT_TRUE(own({{"X-Skiff-Token", "alpha"}}));
  EXPECT_TRUE(own({{"Sec-WebSocket-Protocol", "chat, skiff.bearer.YWxwaGE"}}));
  EXPECT_FALSE(own({{"Authorization", "Bearer alpha"}}));
  EXPECT_FALSE(own({{"Sec-WebSocket-Protocol", "chat"}}));
  EXPECT_FALSE(own({}));
}

TEST(RemoveOwnFields, RemovesABearerTokenUnlessTheRequestHasAnother) {
  EXPECT_EQ(left_of({{"Authorization", "Bearer alpha"}, {"X", "1"}}), "X: 1\r\n");
  EXPECT_EQ(left_of({{"authorization", "bearer unknown"}}), "");
  EXPECT_EQ(left_of({{"X-Skiff-Token", "alpha"}, {"Authorization", "Bearer theirs"}}),
            "Authorization: Bearer theirs\r\n");
  EXPECT_EQ(left_of({{"X-Skiff-Token", "alpha"}, {"Authorization", "Basic eDp5"}}), "Authorization: Basic eDp5\r\n");
}

TEST(RemoveOwnFields, PassesNoTokenThatTheAgentWouldAccept) {
  EXPECT_EQ(left_of({{"X-Skiff-Token", "alpha"}, {"Authorization", "Bearer alpha"}}), "");
  EXPECT_EQ(left_of({{"X-Skiff-Token", "alpha"}, {"Authorization", "Bearer beta"}}), "");
  EXPECT_EQ(left_of({{"x-skiff-token", "alpha"}, {"X-SKIFF-TOKEN", "beta"}}), "");
}

TEST(RemoveOwnFields, LeavesTheOtherSubprotocols) {
  EXPECT_EQ(left_of({{"Sec-WebSocket-Protocol", "a, skiff.bearer.YWxwaGE ,b"}}), "Sec-WebSocket-Protocol: a, b\r\n");
  EXPECT_EQ(left_of({{"Sec-WebSocket-Protocol", "a"}, {"sec-websocket-protocol", "skiff.bearer.YWxwaGE"}}),
            "Sec-WebSocket-Protocol: a\r\n");
  EXPECT_EQ(left_of({{"Sec-WebSocket-Protocol", "skiff.bearer.YWxwaGE"}}), "");
}

}  // namespace
}  // namespace skiff::runtime
