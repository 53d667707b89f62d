#include "fs/search/line_matcher.hpp"

#include <string>

#include <re2/re2.h>

#include <gtest/gtest.h>

namespace skiff::fs {
namespace {

std::string first(const LinePattern& pattern, std::string_view text) {
  auto matcher = LineMatcher::compile(pattern);
  if (!matcher) return "error: " + matcher.error().message;
  const auto match = matcher->find(text, 0);
  return match ? std::to_string(match->begin) + "-" + std::to_string(match->end) : "none";
}

TEST(LineMatcher, FindsLiteralsAndExpressions) {
  EXPECT_EQ(first({.text = "b.r"}, "foo\nbar\n"), "4-7");
  EXPECT_EQ(first({.text = "b.r", .literal = true}, "bar b.r"), "4-7");
  EXPECT_EQ(first({.text = "BAR"}, "foo bar"), "none");
  EXPECT_EQ(first({.text = "BAR", .ignore_case = true}, "foo bar"), "4-7");
  EXPECT_EQ(first({.text = "B(A)R", .literal = true, .ignore_case = true}, "foo b(a)r"), "4-9");
  EXPECT_EQ(first({.text = "fo+[a-c]\\d", .ignore_case = true}, "xFOOb7"), "1-6");
}

TEST(LineMatcher, StaysWithinLines) {
  EXPECT_EQ(first({.text = "a\\sb"}, "a\nb"), "none");
  EXPECT_EQ(first({.text = "a[^x]b"}, "a\nb"), "none");
  EXPECT_EQ(first({.text = "(?s)a.b"}, "a\nb a.b"), "4-7");
  EXPECT_EQ(first({.text = "^bar$"}, "foobar\nbar\n"), "7-10");
  EXPECT_EQ(first({.text = "^$"}, "a\n\nb"), "2-2");
  EXPECT_EQ(first({.text = "o$"}, "of\nfoo\n"), "5-6");
}

TEST(LineMatcher, TakesBytesThatAreNotUtf8) {
  EXPECT_EQ(first({.text = "foo"}, "\xFF\xFE foo"), "3-6");
  EXPECT_EQ(first({.text = "f.o"}, "f\xFFo foo"), "4-7");
  EXPECT_EQ(first({.text = "f.o"}, "f\xC3\xA9o"), "0-4");
  EXPECT_EQ(first({.text = "\xC3\x89", .ignore_case = true}, "\xC3\xA9"), "0-2");
}

TEST(LineMatcher, FoldsCaseAsUnicodeDoes) {
  // The kelvin sign is a K, the long s an S.
  EXPECT_EQ(first({.text = "kilo", .ignore_case = true}, "\xE2\x84\xAAilo"), "0-6");
  EXPECT_EQ(first({.text = "kilo", .literal = true, .ignore_case = true}, "\xE2\x84\xAAilo"), "0-6");
  EXPECT_EQ(first({.text = "is\\d", .ignore_case = true},
                  "i\xC5\xBF"
                  "7"),
            "0-4");
}

TEST(LineMatcher, RefusesInvalidPatterns) {
  for (const char* pattern : {"", "(", "a)b(", "[", "*", "a\nb", "\\", "(?<x", "a{1001}"}) {
    const auto matcher = LineMatcher::compile({.text = pattern});
    ASSERT_FALSE(matcher) << pattern;
    EXPECT_EQ(matcher.error().code, Errc::invalid_field);
  }
  EXPECT_FALSE(LineMatcher::compile({.text = std::string(LineMatcher::kLongest + 1, 'a')}));
}

TEST(LineMatcher, KnowsWhatEachMatchHolds) {
  const auto required = [](const char* expression) { return required_literal(expression, false); };
  EXPECT_EQ(required("fn\\s+(\\w+)_test"), "_test");
  EXPECT_EQ(required("foo|bar"), "");
  EXPECT_EQ(required("(foo|bar)baz"), "baz");
  EXPECT_EQ(required("fooo*bars"), "bars");
  EXPECT_EQ(required("fooo+r"), "fooo");
  EXPECT_EQ(required("abc?"), "ab");
  EXPECT_EQ(required("abc{0,2}de"), "ab");
  EXPECT_EQ(required("a{b|c}d"), "");
  EXPECT_EQ(required("a\\.b\\(c"), "a.b(c");
  EXPECT_EQ(required("[]abc]xyz"), "xyz");
  EXPECT_EQ(required("[\\[:]a|b:]cd]ef"), "");
  EXPECT_EQ(required("[[:alpha:]]xyz"), "xyz");
  EXPECT_EQ(required("(?i)abc"), "");
  EXPECT_EQ(required("abc(?i)def"), "");
  EXPECT_EQ(required("\\x41abc"), "");
  EXPECT_EQ(required("\\Qa|b\\E"), "");
  EXPECT_EQ(required("\\pLabc"), "");
  EXPECT_EQ(required("ab\xC3\xA9*cd"), "ab");
  EXPECT_EQ(required("^ab.c$"), "ab");
  EXPECT_EQ(required_literal("xxkelvin", true), "elvin");
  EXPECT_EQ(required_literal("abk*cd", true), "ab");
  EXPECT_EQ(required_literal("abcs?x", true), "abc");
}

/// Compares with RE2 alone on random expressions and random lines.
TEST(LineMatcher, FindsWhatRe2FindsWithoutThePrefilter) {
  unsigned seed = 3;
  const auto next = [&seed](unsigned below) {
    seed = seed * 1664525U + 1013904223U;
    return (seed >> 16U) % below;
  };
  const std::string_view pieces[] = {"a",  "b",    "ab", "K", "s",      "*",       "+",   "?",      ".",   "(a|b)",
                                     "|",  "[ab]", "^",  "$", "(?:ab)", "\\b",     "{2}", "{0,1}",  "\\.", "(ba)*",
                                     "ba", "k",    "aa", "S", "[^a]",   "(b|(a))", "\\w", "(?i:a)", "bb",  "\xC3\xA9"};
  int compiled = 0, matched = 0;
  for (int round = 0; round < 6000; ++round) {
    std::string expression, text;
    for (unsigned i = 0, count = 1 + next(6); i < count; ++i) expression += pieces[next(30)];
    for (unsigned i = 0, count = next(60); i < count; ++i) {
      text += std::string_view{"aabbabkKsSA.\n\n"}[next(14)];
      if (next(12) == 0) text += "\xC3\xA9";
    }
    for (const bool ignore_case : {false, true}) {
      auto matcher = LineMatcher::compile({.text = expression, .ignore_case = ignore_case});
      if (!matcher) continue;
      ++compiled;
      RE2::Options options;
      options.set_never_nl(true);
      options.set_case_sensitive(!ignore_case);
      const RE2 plain{"(?m:" + expression + ")", options};
      re2::StringPiece found;
      const bool wanted = plain.Match(text, 0, text.size(), RE2::UNANCHORED, &found, 1);
      const auto match = matcher->find(text, 0);
      ASSERT_EQ(match.has_value(), wanted) << expression << " on " << text;
      if (!match) continue;
      ++matched;
      ASSERT_EQ(match->begin, static_cast<std::size_t>(found.data() - text.data())) << expression << " on " << text;
    }
  }
  EXPECT_GT(compiled, 2000);
  EXPECT_GT(matched, 1000);
}

TEST(LineMatcher, GivesUpALiteralThatIsInEveryLine) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += "ab-" + std::to_string(i) + "\n";
  auto matcher = LineMatcher::compile({.text = "ab-4.99$"});
  const auto match = matcher->find(text, 0);
  ASSERT_TRUE(match);
  EXPECT_EQ(text.substr(match->begin, match->end - match->begin), "ab-4099");
  auto copy = *matcher;
  EXPECT_EQ(copy.find(text, match->end + 1)->begin, text.find("ab-4199"));
}

}  // namespace
}  // namespace skiff::fs
