#include "fs/content/diff.hpp"

#include <random>

#include "fs/content/edit.hpp"
#include "tests/support/files_test.hpp"
#include "tests/support/unified_diff.hpp"

namespace skiff::fs {
namespace {

using test::applied;

std::string diff(std::string_view text, const std::vector<Edit>& edits) {
  const Replaced replaced = replace(text, edits).value();
  return unified_diff("f", text, replaced.text, replaced.changed).text;
}

TEST(Diff, ShowsAChangedLineInItsContext) {
  EXPECT_EQ(diff("1\n2\n3\n4\n5\n6\n7\n8\n9\n", {{.old = "5", .replacement = "five"}}),
            "--- a/f\n+++ b/f\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n");
}

TEST(Diff, ShowsOnlyTheLinesThatDiffer) {
  EXPECT_EQ(diff("a\nb\nc\nd\ne\n", {{.old = "a\nb\nc\nd\ne\n", .replacement = "a\nb\nx\nd\ne\n"}}),
            "--- a/f\n+++ b/f\n@@ -1,5 +1,5 @@\n a\n b\n-c\n+x\n d\n e\n");
  EXPECT_EQ(diff("a\nb\nc\n", {{.old = "a\nb\nc\n", .replacement = "x\nb\ny\n"}}),
            "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n-a\n+x\n b\n-c\n+y\n");
  EXPECT_EQ(diff("same\n", {{.old = "same", .replacement = "same"}}), "");
  EXPECT_EQ(diff("same\n", {}), "");
}

TEST(Diff, JoinsNearChangesAndSplitsFarOnes) {
  std::string text;
  for (int i = 1; i <= 30; ++i) text += "line " + std::to_string(i) + ".\n";
  const auto hunks = [&](const char* one, const char* other) {
    const std::string patch = diff(text, {{.old = one, .replacement = "x"}, {.old = other, .replacement = "y"}});
    std::size_t count = 0;
    for (std::size_t at = patch.find("\n@@"); at != std::string::npos; at = patch.find("\n@@", at + 1)) ++count;
    return count;
  };
  EXPECT_EQ(hunks("line 5.", "line 6."), 1U);
  EXPECT_EQ(hunks("line 5.", "line 12."), 1U) << "six lines between: their context meets";
  EXPECT_EQ(hunks("line 5.", "line 13."), 2U);
  EXPECT_EQ(hunks("line 13.", "line 5."), 2U) << "in order, whatever order they were made in";
}

TEST(Diff, MarksALastLineWithoutANewline) {
  EXPECT_EQ(
      diff("a\nb", {{.old = "b", .replacement = "c"}}),
      "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n");
  EXPECT_EQ(diff("a\nb", {{.old = "b", .replacement = "b\n"}}),
            "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n");
  EXPECT_EQ(diff("a\nb", {{.old = "a", .replacement = "c"}}),
            "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-a\n+c\n b\n\\ No newline at end of file\n");
}

TEST(Diff, CountsLinesOfAnEmptiedFile) {
  EXPECT_EQ(diff("a\n", {{.old = "a\n", .replacement = ""}}), "--- a/f\n+++ b/f\n@@ -1,1 +0,0 @@\n-a\n");
}

TEST(Diff, QuotesAStrangeName) {
  const auto head = [](std::string_view name) {
    const Changed all{.old_begin = 0, .old_end = 2, .new_begin = 0, .new_end = 2};
    const std::string text = unified_diff(name, "a\n", "b\n", std::span{&all, 1}).text;
    return text.substr(0, text.find('\n'));
  };
  EXPECT_EQ(head("src/x.c"), "--- a/src/x.c");
  EXPECT_EQ(head("/w/x.c"), "--- a/w/x.c");
  EXPECT_EQ(head("two words"), "--- a/two words\t");
  EXPECT_EQ(head("a\nb\"\\\xff"), "--- \"a/a\\012b\\\"\\\\\\377\"");
}

TEST(Diff, LeavesOutWholeHunksWhenItIsTooLong) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += i % 20 == 0 ? "change\n" : "keep\n";
  const std::vector<Edit> edits{{.old = "change", .replacement = "done", .count = 0}};
  const Replaced replaced = replace(text, edits).value();
  const Diff whole = unified_diff("f", text, replaced.text, replaced.changed);
  EXPECT_FALSE(whole.cut);
  const Diff part = unified_diff("f", text, replaced.text, replaced.changed, whole.text.size() / 2);
  EXPECT_TRUE(part.cut);
  EXPECT_LE(part.text.size(), whole.text.size() / 2);
  EXPECT_TRUE(whole.text.starts_with(part.text));
  EXPECT_FALSE(applied(text, part.text).starts_with("bad")) << "what is there is whole";
}

TEST(Diff, GivesTheNewTextWhenApplied) {
  std::mt19937 random{11};
  const auto text_of = [&](std::size_t most) {
    std::string text(random() % (most + 1), ' ');
    for (char& c : text) c = "ab\n\n"[random() % 4];
    return text;
  };
  for (int i = 0; i < 20'000; ++i) {
    const std::string text = text_of(60);
    std::vector<Edit> edits;
    for (std::size_t n = 1 + random() % 4; n > 0; --n) {
      edits.push_back({.old = "ab\n"[random() % 3] + text_of(3), .replacement = text_of(6), .count = 0});
    }
    const auto replaced = replace(text, edits);
    if (!replaced) continue;
    const Diff made = unified_diff("f", text, replaced->text, replaced->changed);
    ASSERT_EQ(applied(text, made.text), replaced->text) << "of:\n" << text << "\nby:\n" << made.text;
    ASSERT_EQ(made.text.empty(), text == replaced->text);
  }
}

}  // namespace
}  // namespace skiff::fs
