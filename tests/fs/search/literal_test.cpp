#include "fs/search/literal.hpp"

#include <string>

#include <gtest/gtest.h>

namespace skiff::fs {
namespace {

TEST(Literal, FindsTheFirstPlace) {
  const std::string text = "the quick brown fox jumps over the lazy dog, and the quick one wins";
  EXPECT_EQ(Literal{"quick"}.find(text), 4U);
  EXPECT_EQ(Literal{"quick"}.find(text, 5), text.rfind("quick"));
  EXPECT_EQ(Literal{"quicker"}.find(text), Literal::kNowhere);
  EXPECT_EQ(Literal{"t"}.find(text), 0U);
  EXPECT_EQ(Literal{"wins"}.find(text), text.size() - 4);
  EXPECT_EQ(Literal{"QUICK"}.find(text), Literal::kNowhere);
  EXPECT_EQ(Literal("QuIcK", true).find(text), 4U);
  EXPECT_EQ(Literal{"a"}.find(""), Literal::kNowhere);
  EXPECT_EQ(Literal{"ab"}.find("ab", 1), Literal::kNowhere);
  EXPECT_EQ(Literal{"ab"}.find("ab", 9), Literal::kNowhere);
}

TEST(Literal, IgnoresTheCaseOfLettersOnly) {
  EXPECT_EQ(Literal("a@[", true).find("xA`{ A@{ a`[ A@["), 13U);
  EXPECT_EQ(Literal("@", true).find("`@"), 1U);
  EXPECT_EQ(Literal("\xC3\xA9", true).find("\xE3\xA9 \xC3\xA9"), 3U);
}

TEST(Literal, AgreesWithAPlainSearchOnRandomBytes) {
  unsigned seed = 5;
  const auto next = [&seed](unsigned below) {
    seed = seed * 1664525U + 1013904223U;
    return (seed >> 16U) % below;
  };
  int found = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text(next(120), '\0'), wanted(1 + next(5), '\0');
    const unsigned letters = 2 + next(3);
    for (char& c : text) c = static_cast<char>('a' + next(letters));
    for (char& c : wanted) c = static_cast<char>('a' + next(letters));
    const std::size_t from = next(20);
    ASSERT_EQ(Literal{wanted}.find(text, from), std::string_view{text}.find(wanted, from)) << wanted << " in " << text;
    std::string mixed = text;
    for (char& c : mixed) {
      if (next(2) == 0) c = static_cast<char>(c - 0x20);
    }
    const std::size_t at = Literal(wanted, true).find(mixed, from);
    ASSERT_EQ(at, std::string_view{text}.find(wanted, from)) << wanted << " in " << mixed;
    found += at == Literal::kNowhere ? 0 : 1;
  }
  EXPECT_GT(found, 3000);
}

}  // namespace
}  // namespace skiff::fs
