#include "base/id.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace skiff {
namespace {

TEST(Id, AcceptsLettersDigitsAndInnerPunctuation) {
  for (const std::string_view id : {"a", "Z", "0", "a.b", "a_b-c.d", "build-1", "0..-__"}) {
    EXPECT_TRUE(is_valid_id(id)) << id;
  }
  EXPECT_TRUE(is_valid_id(std::string(64, 'x')));
}

TEST(Id, RefusesOtherTexts) {
  for (const std::string_view id : {"", ".", "..", "-a", "_a", "a/b", "a b", "a\n", "a%2F", "\xc3\xa9", "a:b"}) {
    EXPECT_FALSE(is_valid_id(id)) << id;
  }
  EXPECT_FALSE(is_valid_id(std::string(65, 'x')));
  EXPECT_FALSE(is_valid_id(std::string_view{"a\0b", 3}));
}

TEST(Id, IsValidAndUniqueWhenNew) {
  std::set<std::string> ids;
  for (int i = 0; i < 10'000; ++i) {
    const std::string id = new_id("c");
    EXPECT_TRUE(is_valid_id(id)) << id;
    EXPECT_EQ(id.size(), 21U);
    EXPECT_TRUE(ids.insert(id).second) << id;
  }
}

TEST(Id, SortsByTimeDownToTheMillisecond) {
  const std::string first = new_id("");
  std::string second;
  do {
    second = new_id("");
  } while (second.substr(0, 10) == first.substr(0, 10));
  EXPECT_LT(first, second);
}

TEST(RandomBytes, FillsAllOfTheBuffer) {
  // 4 KiB is more than getrandom(2) guarantees in one call; a run of zeros at the end would show an unfilled part.
  std::array<std::byte, 4096> bytes{};
  random_bytes(bytes);
  EXPECT_TRUE(std::any_of(bytes.end() - 32, bytes.end(), [](std::byte b) { return b != std::byte{0}; }));
  std::set<std::byte> kinds(bytes.begin(), bytes.end());
  EXPECT_GT(kinds.size(), 200U);
}

}  // namespace
}  // namespace skiff
