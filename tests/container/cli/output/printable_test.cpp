#include "container/cli/output/printable.hpp"

#include <string>

#include <gtest/gtest.h>

namespace skiff::container {
namespace {

TEST(Printable, ShowsControlsAsTheirBytes) {
  EXPECT_EQ(printable("\033]0;OWNED\007"), "\\x1b]0;OWNED\\x07");
  EXPECT_EQ(printable(std::string_view{"\0\t\r\n\x1f\x7f", 6}), "\\x00\\x09\\x0d\\x0a\\x1f\\x7f");
  EXPECT_EQ(printable("\xc2\x80\xc2\x9b\xc2\x9f"), "\\xc2\\x80\\xc2\\x9b\\xc2\\x9f") << "C1";
  for (const std::string_view bidi :
       {"\xd8\x9c", "\xe2\x80\x8e", "\xe2\x80\x8f", "\xe2\x80\xaa", "\xe2\x80\xae", "\xe2\x81\xa6", "\xe2\x81\xa9"}) {
    EXPECT_TRUE(printable(bidi).starts_with("\\x")) << printable(bidi);
    EXPECT_FALSE(is_printable(bidi));
  }
}

TEST(Printable, LeavesTextAlone) {
  for (const std::string_view text :
       {"", "plain ~", "\xc2\xa0", "\xc3\xbc", "\xe2\x82\xac", "\xe2\x80\xa8", "\xf0\x9f\x98\x80", "a\\x1b"}) {
    EXPECT_EQ(printable(text), text);
    EXPECT_TRUE(is_printable(text));
  }
}

TEST(Printable, ShowsBytesThatAreNotUtf8AndNothingElse) {
  EXPECT_EQ(printable("a\x9bz"), "a\\x9bz") << "C1 of a terminal with eight bits";
  EXPECT_EQ(printable("\xc3"), "\\xc3") << "cut";
  EXPECT_EQ(printable("\xff\xc3\xbc\xe2\x82"), "\\xff\xc3\xbc\\xe2\\x82");
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "a surrogate";
}

TEST(Printable, KeepsLinesWhereTheyAreMeant) {
  EXPECT_EQ(printable_lines("a\tb\nc\r\033"), "a\tb\nc\\x0d\\x1b");
}

TEST(Printable, IsAsWideAsItIsShown) {
  EXPECT_EQ(width_of(printable("\033\xc3\xbc")), 5u);
  EXPECT_EQ(shortened("\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc", 4), "\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc");
  EXPECT_EQ(shortened("\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc", 4), "\xc3\xbc...");
  EXPECT_EQ(shortened("\033\033\033", 6), "\\x1...");
}

TEST(Printable, IsEscapedInJson) {
  EXPECT_EQ(escape_unprintable("\"\x7f\xc2\x85\xe2\x81\xa7\xc3\xbc\"\n"), "\"\\u007f\\u0085\\u2067\xc3\xbc\"\n");
  EXPECT_TRUE(needs_escape("\xe2\x81\xa7"));
  EXPECT_FALSE(needs_escape("\xc3\xbc\n"));
}

}  // namespace
}  // namespace skiff::container
