#include "fs/search/wildcard.hpp"

#include <string>

#include <gtest/gtest.h>

namespace skiff::fs {
namespace {

bool wildcard_matches(std::string_view pattern, std::string_view path) {
  const auto compiled = PathWildcard::compile(pattern);
  return compiled && compiled->matches(path);
}

TEST(Wildcard, MatchesNames) {
  EXPECT_TRUE(wildcard_matches("abc", "abc"));
  EXPECT_FALSE(wildcard_matches("abc", "abcd"));
  EXPECT_FALSE(wildcard_matches("abc", "ab"));
  EXPECT_TRUE(wildcard_matches("*", "x"));
  EXPECT_TRUE(wildcard_matches("*", ".x"));
  EXPECT_TRUE(wildcard_matches("*.c", "a.b.c"));
  EXPECT_FALSE(wildcard_matches("*.c", "a.cc"));
  EXPECT_TRUE(wildcard_matches("a*", "a"));
  EXPECT_TRUE(wildcard_matches("a*b*c", "aXbbYcc"));
  EXPECT_FALSE(wildcard_matches("a*b*c", "aXcYb"));
  EXPECT_TRUE(wildcard_matches("a?c", "abc"));
  EXPECT_FALSE(wildcard_matches("a?c", "ac"));
  EXPECT_TRUE(wildcard_matches("*a*", "bab"));
  EXPECT_TRUE(wildcard_matches("a**c", "abbc"));
  EXPECT_TRUE(wildcard_matches("\\*", "*"));
  EXPECT_FALSE(wildcard_matches("\\*", "x"));
  EXPECT_TRUE(wildcard_matches("a\\bc", "abc"));
  EXPECT_TRUE(wildcard_matches("*\xFF", "\x80\xFF"));
}

TEST(Wildcard, MatchesSetsOfBytes) {
  EXPECT_TRUE(wildcard_matches("[abc]x", "bx"));
  EXPECT_FALSE(wildcard_matches("[abc]x", "dx"));
  EXPECT_TRUE(wildcard_matches("[a-c]", "b"));
  EXPECT_TRUE(wildcard_matches("[!a-c]", "d"));
  EXPECT_TRUE(wildcard_matches("[^a-c]", "d"));
  EXPECT_FALSE(wildcard_matches("[!a-c]", "a"));
  EXPECT_TRUE(wildcard_matches("[]]", "]"));
  EXPECT_TRUE(wildcard_matches("[!]]", "a"));
  EXPECT_TRUE(wildcard_matches("[]-]", "-"));
  EXPECT_TRUE(wildcard_matches("[a-]", "-"));
  EXPECT_TRUE(wildcard_matches("[-a]", "-"));
  EXPECT_TRUE(wildcard_matches("[\\]]", "]"));
  EXPECT_TRUE(wildcard_matches("[[:digit:]]x", "7x"));
  EXPECT_FALSE(wildcard_matches("[[:digit:]]x", "ax"));
  EXPECT_TRUE(wildcard_matches("[[:alpha:]-]", "-"));
  EXPECT_TRUE(wildcard_matches("[[:]", ":"));
  EXPECT_TRUE(wildcard_matches("[[a]", "["));
  EXPECT_TRUE(wildcard_matches("[a-c-e]", "-"));
  EXPECT_FALSE(wildcard_matches("[a-c-e]", "d"));
}

TEST(Wildcard, RefusesWhatCanNeverMatch) {
  for (const char* pattern : {"[", "[a", "a[!", "a\\", "[]", "[[:nope:]]", "[a-", "[\\"}) {
    EXPECT_FALSE(PathWildcard::compile(pattern)) << pattern;
  }
}

TEST(Wildcard, KeepsStarsWithinAComponentAndLetsTwoCross) {
  EXPECT_FALSE(wildcard_matches("*.c", "a/b.c"));
  EXPECT_FALSE(wildcard_matches("a?b", "a/b"));
  EXPECT_FALSE(wildcard_matches("a[/]b", "a/b"));
  EXPECT_TRUE(wildcard_matches("a/*.c", "a/b.c"));
  EXPECT_TRUE(wildcard_matches("**/b", "b"));
  EXPECT_TRUE(wildcard_matches("**/b", "x/y/b"));
  EXPECT_FALSE(wildcard_matches("**/b", "x/ab"));
  EXPECT_TRUE(wildcard_matches("a/**", "a/b"));
  EXPECT_TRUE(wildcard_matches("a/**", "a/b/c"));
  EXPECT_FALSE(wildcard_matches("a/**", "a"));
  EXPECT_TRUE(wildcard_matches("a/**/b", "a/b"));
  EXPECT_TRUE(wildcard_matches("a/**/b", "a/x/y/b"));
  EXPECT_FALSE(wildcard_matches("a/**/b", "a/x/y"));
  EXPECT_TRUE(wildcard_matches("**", "a/b"));
  EXPECT_TRUE(wildcard_matches("a/**/**/b", "a/b"));
  EXPECT_TRUE(wildcard_matches("**/a/**/b/*.c", "x/a/a/y/b/b/z.c"));
  EXPECT_FALSE(wildcard_matches("**/a/**/b/*.c", "x/a/y/b/b/q/z.c"));
  EXPECT_TRUE(wildcard_matches("a**/b", "axy/b"));
  EXPECT_FALSE(wildcard_matches("a**/b", "ax/y/b"));
  EXPECT_TRUE(wildcard_matches("a\\/b", "a/b"));
}

TEST(Wildcard, SaysWhereNothingCanMatch) {
  const auto may = [](const char* pattern, const char* directory) {
    return PathWildcard::compile(pattern)->may_match_beneath(directory);
  };
  EXPECT_TRUE(may("src/*.c", ""));
  EXPECT_TRUE(may("src/*.c", "src"));
  EXPECT_FALSE(may("src/*.c", "lib"));
  EXPECT_FALSE(may("src/*.c", "src/deep"));
  EXPECT_TRUE(may("src/**/*.c", "src/deep/er"));
  EXPECT_FALSE(may("src/**/*.c", "lib/deep"));
  EXPECT_FALSE(may("*.c", "a.c"));
  EXPECT_TRUE(may("**", "a/b"));
  EXPECT_TRUE(may("*/x/y", "a/x"));
}

/// The plain definition of what the two loops compute; it takes exponential time.
bool slowly(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern.starts_with("**/") && slowly(pattern.substr(3), text)) return true;
  if (pattern == "**") return !text.empty();
  if (pattern.starts_with("**/")) {
    const auto slash = text.find('/');
    return slash != std::string_view::npos && slowly(pattern, text.substr(slash + 1));
  }
  if (pattern.front() == '*') {
    if (slowly(pattern.substr(1), text)) return true;
    return !text.empty() && text.front() != '/' && slowly(pattern, text.substr(1));
  }
  if (text.empty()) return false;
  const bool same = pattern.front() == '?' ? text.front() != '/' : pattern.front() == text.front();
  const std::string_view rest = pattern.substr(1);
  // A `**` counts as such only at the start of a component.
  return same && slowly(rest, text.substr(1));
}

TEST(Wildcard, AgreesWithThePlainDefinitionOnRandomPatterns) {
  unsigned seed = 7;
  const auto next = [&seed](unsigned below) {
    seed = seed * 1664525U + 1013904223U;
    return (seed >> 16U) % below;
  };
  const std::string_view parts[] = {"a", "b", "*", "a*", "*b", "?", "*a*b", "**", "ab", "b?*"};
  int matched = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string pattern, path;
    for (unsigned i = 0, count = 1 + next(4); i < count; ++i)
      pattern += (i == 0 ? "" : "/") + std::string{parts[next(10)]};
    for (unsigned i = 0, count = 1 + next(4); i < count; ++i) {
      if (i > 0) path += '/';
      for (unsigned j = 0, size = 1 + next(3); j < size; ++j) path += static_cast<char>('a' + next(2));
    }
    matched += slowly(pattern, path) ? 1 : 0;
    ASSERT_EQ(wildcard_matches(pattern, path), slowly(pattern, path)) << pattern << " on " << path;
  }
  EXPECT_GT(matched, 1000);
}

TEST(Wildcard, TakesNoExponentialTime) {
  std::string pattern, deep;
  for (int i = 0; i < 200; ++i) pattern += "*a";
  EXPECT_FALSE(wildcard_matches(pattern + "b", std::string(255, 'a')));
  for (int i = 0; i < 100; ++i) deep += "a/";
  std::string directories;
  for (int i = 0; i < 50; ++i) directories += "**/a/";
  EXPECT_FALSE(wildcard_matches(directories + "c/d", deep + deep + "x/d"));
}

}  // namespace
}  // namespace skiff::fs
