#include "container/cli/flags/detach_keys.hpp"

#include <gtest/gtest.h>

namespace skiff::container {
namespace {

DetachKeys keys(std::string_view text) {
  auto parsed = DetachKeys::parse(text);
  EXPECT_TRUE(parsed) << parsed.error().message;
  return parsed.value_or(DetachKeys{});
}

TEST(DetachKeys, TheDefaultIsThatOfDocker) {
  DetachKeys both = keys(DetachKeys::kDefault);
  const auto typed = both.take("ls\n\x10\x11never");
  EXPECT_EQ(typed.bytes, "ls\n");
  EXPECT_TRUE(typed.is_detached);
}

TEST(DetachKeys, ABeginningIsHeldBackUntilItIsKnownWhatItIs) {
  DetachKeys both = keys("ctrl-p,ctrl-q");
  EXPECT_EQ(both.take("a\x10").bytes, "a");
  EXPECT_EQ(both.take("b").bytes,
            "\x10"
            "b");
  EXPECT_EQ(both.take("\x10").bytes, "");
  EXPECT_EQ(both.take("\x10").bytes, "\x10");
  const auto typed = both.take("\x11");
  EXPECT_EQ(typed.bytes, "");
  EXPECT_TRUE(typed.is_detached);
}

TEST(DetachKeys, KeysThatRepeatAreFoundBehindAFalseBeginning) {
  DetachKeys three = keys("a,a,b");
  const auto typed = three.take("aaab");
  EXPECT_EQ(typed.bytes, "a");
  EXPECT_TRUE(typed.is_detached);
}

TEST(DetachKeys, AreCharactersAndControlCharacters) {
  EXPECT_TRUE(keys("ctrl-@").take(std::string_view{"\0", 1}).is_detached);
  EXPECT_TRUE(keys("ctrl-]").take("\x1d").is_detached);
  EXPECT_TRUE(keys("~,.").take("~.").is_detached);
  EXPECT_TRUE(keys(",,x").take(",x").is_detached);
}

TEST(DetachKeys, NoneLetEverythingPass) {
  DetachKeys none = keys("");
  const auto typed = none.take("\x10\x11");
  EXPECT_EQ(typed.bytes, "\x10\x11");
  EXPECT_FALSE(typed.is_detached);
}

TEST(DetachKeys, WhatIsNoKeyIsRefused) {
  for (const char* text : {"ctrl-", "ctrl-P", "ctrl-1", "pq", "ctrl-p,", "ctrl-p,,ctrl-q,", "alt-x"}) {
    const auto parsed = DetachKeys::parse(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, Errc::invalid_field);
    EXPECT_EQ(parsed.error().field, "--detach-keys");
  }
}

}  // namespace
}  // namespace skiff::container
