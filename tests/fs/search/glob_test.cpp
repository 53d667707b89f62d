#include "fs/search/glob.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/scratch_tree.hpp"

namespace skiff::fs {
namespace {

using Paths = std::vector<std::string>;

bool glob_matches(const std::string& pattern, const std::string& path) {
  return Glob::compile(pattern).value().matches(path);
}

TEST(Glob, SpellsOutBraces) {
  EXPECT_TRUE(glob_matches("*.{js,ts}", "a.ts"));
  EXPECT_FALSE(glob_matches("*.{js,ts}", "a.c"));
  EXPECT_TRUE(glob_matches("a{b,c{d,e}}f", "acef"));
  EXPECT_FALSE(glob_matches("a{b,c{d,e}}f", "acf"));
  EXPECT_TRUE(glob_matches("{src,lib/x}/**/*.c", "lib/x/y/z.c"));
  EXPECT_TRUE(glob_matches("a{,b}", "a"));
  EXPECT_TRUE(glob_matches("a{,b}", "ab"));
  EXPECT_TRUE(glob_matches("{a}", "a"));
  EXPECT_TRUE(glob_matches("[{]x", "{x"));
  EXPECT_TRUE(glob_matches("\\{a,b\\}", "{a,b}"));
  EXPECT_TRUE(glob_matches("a,b", "a,b"));
  EXPECT_TRUE(glob_matches("./a", "a"));
}

TEST(Glob, RefusesWhatDoesNotCloseOrGrowsTooLarge) {
  for (const std::string pattern : {"", "{a", "a}", "[a", "{[}", "a\\", "{a,{b}"}) {
    const auto glob = Glob::compile(pattern);
    ASSERT_FALSE(glob) << pattern;
    EXPECT_EQ(glob.error().code, Errc::invalid_field);
  }
  std::string many;
  for (int i = 0; i < 9; ++i) many += "{a,b}";
  EXPECT_FALSE(Glob::compile(many));
  EXPECT_TRUE(Glob::compile(many.substr(5)));
  EXPECT_FALSE(Glob::compile(std::string(Glob::kLongest + 1, 'a')));
  EXPECT_FALSE(Glob::compile(std::string(2000, '{')));
}

struct GlobAnswer {
  Paths paths;
  GlobSummary summary;
};

GlobAnswer find(const test::ScratchTree& tree, const std::string& pattern, GlobOptions options = {}) {
  GlobAnswer answer;
  answer.summary = find_matches(tree.open(), Glob::compile(pattern).value(), options, {}, [&](auto matches) {
    for (const GlobMatch& match : matches) answer.paths.push_back(match.path);
    return true;
  });
  std::ranges::sort(answer.paths);
  return answer;
}

TEST(Glob, FindsFilesDirectoriesAndLinks) {
  const test::ScratchTree tree;
  tree.write("a.c");
  tree.write("src/b.c");
  tree.write("src/deep/c.c");
  tree.write("src/deep/c.h");
  tree.write(".hidden/d.c");
  tree.directory("src/folder.c");
  tree.link("src/link.c", "/nowhere");
  EXPECT_EQ(find(tree, "*.c").paths, (Paths{"a.c"}));
  EXPECT_EQ(find(tree, "src/*.c").paths, (Paths{"src/b.c", "src/folder.c", "src/link.c"}));
  EXPECT_EQ(find(tree, "**/*.c").paths, (Paths{"a.c", "src/b.c", "src/deep/c.c", "src/folder.c", "src/link.c"}));
  EXPECT_EQ(find(tree, "**/*.c", {.walk = {.hidden = true}}).paths.size(), 6U);
  EXPECT_EQ(find(tree, "src/**").paths.size(), 6U);
  EXPECT_EQ(find(tree, "**", {.walk = {.threads = 2}}).paths.size(), 8U);
  EXPECT_EQ(find(tree, "none").summary.matches, 0U);
}

TEST(Glob, MatchesFromTheRootWhereverTheWalkBegins) {
  const test::ScratchTree tree;
  tree.write("a/src/x.c");
  const auto found = [&](const char* pattern) {
    std::uint64_t count = 0;
    (void)find_matches(tree.open("a"), Glob::compile(pattern).value(), {.walk = {.prefix = "a"}}, {},
                       [&](auto matches) {
                         count += matches.size();
                         return true;
                       });
    return count;
  };
  EXPECT_EQ(found("a/src/*.c"), 1U);
  EXPECT_EQ(found("src/*.c"), 0U);
}

TEST(Glob, IsBoundedAndStopsWhenTheSinkDoes) {
  const test::ScratchTree tree;
  for (int i = 0; i < 1200; ++i) tree.write("d/" + std::to_string(i));
  for (const unsigned threads : {1U, 2U}) {
    const GlobAnswer some = find(tree, "d/*", {.walk = {.threads = threads}, .most = 700});
    EXPECT_EQ(some.paths.size(), 700U);
    EXPECT_EQ(some.summary.matches, 700U);
    EXPECT_TRUE(some.summary.truncated);
    const GlobAnswer all = find(tree, "d/*", {.walk = {.threads = threads}, .most = 1200});
    EXPECT_EQ(all.paths.size(), 1200U);
    EXPECT_FALSE(all.summary.truncated);
    int calls = 0;
    const auto summary = find_matches(tree.open(), Glob::compile("d/*").value(), {.walk = {.threads = threads}}, {},
                                      [&](auto) { return ++calls < 2; });
    EXPECT_EQ(calls, 2);
    EXPECT_TRUE(summary.truncated);
  }
}

}  // namespace
}  // namespace skiff::fs
