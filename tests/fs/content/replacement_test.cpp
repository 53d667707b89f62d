#include "fs/content/replacement.hpp"

#include <random>

#include "fs/content/edit.hpp"
#include "tests/support/files_test.hpp"

namespace skiff::fs {
namespace {

/// Builds the new text from the old one and the pieces, and checks their order.
std::string rebuilt(std::string_view old_text, const Replaced& replaced) {
  std::string text;
  std::size_t at = 0;
  bool first = true;
  for (const Changed& piece : replaced.changed) {
    EXPECT_TRUE(first || piece.old_begin > at) << "pieces meet";
    first = false;
    text += old_text.substr(at, piece.old_begin - at);
    EXPECT_EQ(text.size(), piece.new_begin);
    text += replaced.text.substr(piece.new_begin, piece.new_end - piece.new_begin);
    at = piece.old_end;
  }
  return text += old_text.substr(at);
}

std::string made(std::string_view text, std::vector<Edit> edits) {
  const auto replaced = replace(text, edits);
  if (!replaced) return "error: " + std::string{name(replaced.error().code)} + " " + replaced.error().field;
  EXPECT_EQ(rebuilt(text, *replaced), replaced->text);
  return replaced->text;
}

TEST(Replacement, ReplacesWhatOccursAsOftenAsExpected) {
  EXPECT_EQ(made("one two three", {{.old = "two", .replacement = "2"}}), "one 2 three");
  EXPECT_EQ(made("a a a", {{.old = "a", .replacement = "bb", .count = 3}}), "bb bb bb");
  EXPECT_EQ(made("a a a", {{.old = "a", .replacement = "", .count = 0}}), "  ");
  EXPECT_EQ(made("aaaa", {{.old = "aa", .replacement = "a", .count = 2}}), "aa") << "occurrences don't overlap";
  EXPECT_EQ(made("x", {}), "x");
}

TEST(Replacement, NamesTheEditThatDoesNotFindItsText) {
  const Edit good{.old = "a", .replacement = "b"};
  EXPECT_EQ(made("a", {good, {.old = "none", .replacement = ""}}), "error: edit_not_found /edits/1/old");
  EXPECT_EQ(made("aa", {good}), "error: edit_not_found /edits/0/old") << "too often";
  EXPECT_EQ(made("aa", {{.old = "a", .replacement = "b", .count = 3}}), "error: edit_not_found /edits/0/old");
  EXPECT_EQ(made("b", {{.old = "a", .replacement = "b", .count = 0}}), "error: edit_not_found /edits/0/old");
  EXPECT_EQ(made("b", {{.old = "", .replacement = "b"}}), "error: invalid_field /edits/0/old");
}

TEST(Replacement, AppliesEditsToTheResultOfEarlierOnes) {
  EXPECT_EQ(made("a", {{.old = "a", .replacement = "bcd"}, {.old = "c", .replacement = "x"}}), "bxd");
  EXPECT_EQ(made("1abc2", {{.old = "b", .replacement = "BB"}, {.old = "aBBc", .replacement = ""}}), "12");
  EXPECT_EQ(made("ab", {{.old = "b", .replacement = "a"}, {.old = "a", .replacement = "b", .count = 2}}), "bb");
}

TEST(Replacement, KnowsWhereTheTextsDiffer) {
  const std::vector<Edit> edits{{.old = "bb", .replacement = "B"}, {.old = "d", .replacement = "DDD"}};
  const Replaced replaced = replace("a bb c d e", edits).value();
  ASSERT_EQ(replaced.changed.size(), 2U);
  EXPECT_EQ(replaced.changed[0].old_begin, 2U);
  EXPECT_EQ(replaced.changed[0].old_end, 4U);
  EXPECT_EQ(replaced.changed[0].new_end, 3U);
  EXPECT_EQ(replaced.changed[1].old_begin, 7U);
  EXPECT_EQ(replaced.changed[1].new_begin, 6U);
  EXPECT_EQ(replaced.changed[1].new_end, 9U);
}

TEST(Replacement, IsRightForAnyEdits) {
  std::mt19937 random{42};
  const auto text_of = [&](std::size_t most) {
    std::string text(random() % (most + 1), ' ');
    for (char& c : text) c = "ab\n"[random() % 3];
    return text;
  };
  for (int i = 0; i < 20'000; ++i) {
    const std::string text = text_of(24);
    std::vector<Edit> edits;
    for (std::size_t n = random() % 5; n > 0; --n) {
      edits.push_back({.old = "ab\n"[random() % 3] + text_of(1), .replacement = text_of(3), .count = 0});
    }
    std::string expected = text;
    bool found = true;
    for (const Edit& edit : edits) {
      found = found && expected.contains(edit.old);
      for (std::size_t at = expected.find(edit.old); at != std::string::npos;
           at = expected.find(edit.old, at + edit.replacement.size())) {
        expected.replace(at, edit.old.size(), edit.replacement);
      }
    }
    const std::string result = made(text, edits);
    ASSERT_EQ(result.starts_with("error: "), !found);
    if (found) {
      ASSERT_EQ(result, expected);
    }
    if (testing::Test::HasFailure()) return;
  }
}

TEST(Replacement, IsBounded) {
  const std::string many(1'500'000, 'a');
  EXPECT_EQ(made(many, {{.old = "a", .replacement = "b", .count = 0}}), "error: payload_too_large /edits/0/old");
  EXPECT_EQ(made(std::string(900'000, 'a'), {{.old = "a", .replacement = std::string(200, 'b'), .count = 0}}),
            "error: payload_too_large ");
}

}  // namespace
}  // namespace skiff::fs
