#include "fs/search/ignore.hpp"

#include <cstdlib>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "fs/search/walk.hpp"
#include "tests/support/scratch_tree.hpp"

namespace skiff::fs {
namespace {

using Verdict = IgnoreRules::Verdict;

struct Case {
  const char* rules;
  const char* path;
  bool directory;
  Verdict verdict;
};

TEST(Ignore, JudgesByTheRulesOfGitignore) {
  constexpr Verdict yes = Verdict::ignored, no = Verdict::none, kept = Verdict::kept;
  const Case cases[] = {
      {"foo", "foo", false, yes},
      {"foo", "a/b/foo", false, yes},
      {"foo", "a/b/foo", true, yes},
      {"foo", "foo2", false, no},
      {"/foo", "foo", false, yes},
      {"/foo", "a/foo", false, no},
      {"foo/", "foo", true, yes},
      {"foo/", "foo", false, no},
      {"foo/", "a/foo", true, yes},
      {"a/foo", "a/foo", false, yes},
      {"a/foo", "b/a/foo", false, no},
      {"a/foo/", "a/foo", false, no},
      {"*.o", "x.o", false, yes},
      {"*.o", "d/x.o", false, yes},
      {"/*.o", "d/x.o", false, no},
      {"d/*.o", "d/x.o", false, yes},
      {"d/*.o", "d/e/x.o", false, no},
      {"**/x", "a/b/x", false, yes},
      {"a/**", "a/b", false, yes},
      {"a/**", "a", true, no},
      {"a/**/b", "a/b", false, yes},
      {"a/**/b", "a/x/y/b", false, yes},
      {"*.log\n!keep.log", "keep.log", false, kept},
      {"!keep.log\n*.log", "keep.log", false, yes},
      {"# foo", "# foo", false, no},
      {"\\#foo", "#foo", false, yes},
      {"\\!foo", "!foo", false, yes},
      {"foo  ", "foo", false, yes},
      {"foo\\ ", "foo ", false, yes},
      {"foo\\  ", "foo ", false, yes},
      {"foo\t", "foo", false, no},
      {"foo\r\nbar\r\n", "foo", false, yes},
      {"\xEF\xBB\xBF"
       "foo",
       "foo", false, yes},
      {"\n\n  \n", "x", false, no},
      {"/", "x", true, no},
      {"!", "x", false, no},
      {"[", "[", false, no},
      {"foo\\", "foo\\", false, no},
      {"f[o-p]o", "fpo", false, yes},
      {"f?o", "f/o", false, no},
      {"\\f\\o\\o", "foo", false, yes},
      {"**", "a/b", false, yes},
      {"**/", "a/b", true, yes},
      {"**/", "a/b", false, no},
      {"a//b", "a/b", false, no},
  };
  for (const Case& one : cases) {
    EXPECT_EQ(IgnoreRules{one.rules}.judge(one.path, one.directory), one.verdict) << one.rules << " on " << one.path;
  }
}

TEST(Ignore, LetsTheDeeperFileDecide) {
  const test::ScratchTree tree;
  tree.write(".gitignore", "*.log\nbuild\n");
  tree.write("sub/.gitignore", "!keep.log\n/only-here\n");
  tree.write("sub/deep/x");
  const UniqueFd top = tree.open(), sub = tree.open("sub"), deep = tree.open("sub/deep");
  const auto outer = read_ignore_scope(top.get(), "", nullptr);
  const auto inner = read_ignore_scope(sub.get(), "sub", outer);
  EXPECT_EQ(read_ignore_scope(deep.get(), "sub/deep", inner), inner) << "no rules, no scope";
  EXPECT_TRUE(is_ignored(inner.get(), "sub/a.log", false));
  EXPECT_FALSE(is_ignored(inner.get(), "sub/keep.log", false));
  EXPECT_TRUE(is_ignored(outer.get(), "keep.log", false));
  EXPECT_TRUE(is_ignored(inner.get(), "sub/only-here", false));
  EXPECT_FALSE(is_ignored(inner.get(), "sub/deep/only-here", false));
  EXPECT_TRUE(is_ignored(inner.get(), "sub/deep/build", true));
  EXPECT_FALSE(is_ignored(nullptr, "a", false));
}

TEST(Ignore, DoesNotFollowLinksOrHangOnFifos) {
  const test::ScratchTree tree;
  tree.write("rules", "a\n");
  tree.directory("one");
  tree.directory("two");
  tree.link("one/.gitignore", "../rules");
  ASSERT_EQ(tree.shell("mkfifo two/.gitignore"), 0);
  EXPECT_EQ(read_ignore_scope(tree.open("one").get(), "one", nullptr), nullptr);
  EXPECT_EQ(read_ignore_scope(tree.open("two").get(), "two", nullptr), nullptr);
}

TEST(Ignore, GivesTheRepositorysOwnRulesTheLastWord) {
  const test::ScratchTree tree;
  tree.write(".git/info/exclude", "*.tmp\n*.bak\n");
  tree.write(".gitignore", "!a.tmp\n");
  const auto scope = read_ignore_scope(tree.open().get(), "", nullptr);
  EXPECT_TRUE(is_ignored(scope.get(), "b.tmp", false));
  EXPECT_FALSE(is_ignored(scope.get(), "a.tmp", false));
  EXPECT_TRUE(is_ignored(scope.get(), "a.bak", false));
}

/// Compares with git on random rules in nested files.
TEST(Ignore, AgreesWithGitOnRandomTrees) {
  if (std::system("git --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "no git";
  unsigned seed = 11;
  const auto next = [&seed](unsigned below) {
    seed = seed * 1664525U + 1013904223U;
    return (seed >> 16U) % below;
  };
  const std::string_view rules[] = {"a",     "b/",   "/a",     "*.c",   "!*.c",   "!a/",      "a/b",  "/b/",
                                    "**/b",  "a/**", "b/**/a", "!/a",   "[ab]",   "?",        "[!a]", "a*",
                                    "!b",    "*",    "!*/",    "a/*",   "!a/b",   "**/a/*.c", "a.c/", "\\a",
                                    "b*/**", "/*",   "!a.c",   "*/a.c", "**/*.c", "!**/b",    "a **", "[a-"};
  const char* names[] = {"a", "b", "a.c", "b.c"};
  std::size_t tracked = 0;
  for (int round = 0; round < 20; ++round) {
    const test::ScratchTree tree;
    std::vector<std::string> directories{""};
    for (int i = 0; i < 6; ++i) {
      const std::string path = directories[next(static_cast<unsigned>(directories.size()))] + names[next(4)] + "/";
      directories.push_back(path);
      tree.directory(path);
    }
    for (const std::string& directory : directories) {
      for (const char* name : names) {
        if (!std::filesystem::exists(tree.path() / (directory + name))) tree.write(directory + name, "x");
      }
      std::string text;
      for (unsigned i = 0, count = next(4); i < count; ++i) text += std::string{rules[next(32)]} + "\n";
      if (!text.empty()) tree.write(directory + ".gitignore", text);
    }
    ASSERT_EQ(tree.shell("git init -q . && git -c core.excludesFile=/dev/null ls-files -z --others --exclude-standard"
                         " >.git/listed"),
              0);
    std::set<std::string> wanted, found;
    std::istringstream listed{tree.read(".git/listed")};
    for (std::string path; std::getline(listed, path, '\0');) wanted.insert(path);
    const WalkSummary summary = walk(tree.open(), {.hidden = true}, {}, [&](const WalkEntry& entry) {
      if (entry.kind == WalkEntry::Kind::file) found.insert(std::string{entry.path});
      return WalkStep::go_on;
    });
    EXPECT_EQ(summary.unreadable, 0U);
    ASSERT_EQ(found, wanted) << "round " << round;
    tracked += wanted.size();
  }
  EXPECT_GT(tracked, 50U);
}

}  // namespace
}  // namespace skiff::fs
