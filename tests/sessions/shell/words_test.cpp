#include "sessions/shell/words.hpp"

#include <array>

#include <gtest/gtest.h>

namespace skiff::sessions {
namespace {

TEST(ShellWords, QuoteTextsReversibly) {
  for (const std::string_view text :
       {"", "plain", "it's", "''", "a b\n\t$x `y` \\ \" !*?[]{}~#&|;<>()", "\xff\x01 é"}) {
    EXPECT_EQ(unquote_word(quote_word(text)), text);
  }
}

TEST(ShellWords, ReadsWhatShellsPrint) {
  struct Case {
    std::string_view word;
    std::string_view value;
  };
  constexpr std::array kCases{
      Case{"plain-1/2:3", "plain-1/2:3"},
      Case{R"('it'"'"'s')", "it's"},
      Case{R"('it'\''s')", "it's"},
      Case{R"("a \"b\" \$c \\ \` d\e")", "a \"b\" $c \\ ` d\\e"},
      Case{R"($'a\'b\n\t\\\001\x41\u00e9\U0001F600\E')", "a'b\n\t\\\001A\xC3\xA9\xF0\x9F\x98\x80\033"},
      Case{R"($'\377\1x')", "\377\001x"},
      Case{"'two\nlines'", "two\nlines"},
      Case{R"(mixed' up'"here"\ )", "mixed uphere "},
  };
  for (const auto& [word, value] : kCases) EXPECT_EQ(unquote_word(word), value) << word;
}

TEST(ShellWords, RefuseExpansionsAndBrokenWords) {
  for (const std::string_view word :
       {"$x",   "`x`",   "$(x)",   "\"$x\"", "\"`x`\"",  "a b",   "a;b", "a|b", "a&",     "(a)",           "a>b",
        "a\nb", "'open", "\"open", "$'open", "$'open\\", "end\\", "a*",  "~",   "$'\\q'", "$'\\UFFFFFFFF'"}) {
    EXPECT_EQ(unquote_word(word), std::nullopt) << word;
  }
}

TEST(ShellWords, EndALineWhereNoQuoteIsOpen) {
  EXPECT_EQ(end_of_line("abc\ndef", 0), 3U);
  EXPECT_EQ(end_of_line("abc\ndef", 4), 7U);
  EXPECT_EQ(end_of_line("A='x\ny'\nB", 0), 7U);
  EXPECT_EQ(end_of_line("A=\"x\\\"\ny\"\nB", 0), 9U);
  EXPECT_EQ(end_of_line("A=$'\\'\n'\nB", 0), 8U);
  EXPECT_EQ(end_of_line("A=\\$'\\'\nB", 0), 7U) << "that dollar does not belong to the quote";
  EXPECT_EQ(end_of_line("A=x\\\ny\nB", 0), 6U);
  EXPECT_EQ(end_of_line("", 0), 0U);
  for (const std::string_view open : {"A='x\n", "A=\"x\\\"", "$'\\'", "'"}) {
    EXPECT_EQ(end_of_line(open, 0), std::nullopt) << open;
  }
}

TEST(ShellWords, KnowNames) {
  for (const std::string_view name : {"a", "_", "A1_b"}) EXPECT_TRUE(is_name(name)) << name;
  for (const std::string_view name : {"", "1a", "a-b", "a b", "BASH_FUNC_x%%", "é"})
    EXPECT_FALSE(is_name(name)) << name;
}

}  // namespace
}  // namespace skiff::sessions
