#include "container/changes/consent.hpp"

#include <sys/stat.h>

#include <gtest/gtest.h>

namespace skiff::container::changes {
namespace {

bool needs(const std::string& path, mode_t mode = S_IFREG | 0644, const std::string& target = {}) {
  return !why_consent({.path = path, .kind = Kind::added, .mode = mode, .target = target}).empty();
}

TEST(Consent, IsNeededForWhatRunsByItself) {
  for (const char* path : {".git/hooks/pre-commit",
                           ".git/config",
                           ".git/config.worktree",
                           ".git/commondir",
                           ".git/info/attributes",
                           ".git/modules/sub/hooks/post-checkout",
                           ".git/rebase-merge/git-rebase-todo",
                           ".git/objects/info/alternates",
                           "sub/.git/hooks/x",
                           ".git/worktrees/w/config",
                           ".envrc",
                           "a/b/.envrc",
                           ".vscode/tasks.json",
                           ".idea/a/b",
                           ".claude/settings.json",
                           "Makefile",
                           "sub/GNUmakefile",
                           "package.json",
                           ".husky/pre-commit",
                           ".npmrc",
                           "bare/HEAD",
                           "x.code-workspace"}) {
    EXPECT_TRUE(needs(path)) << path;
  }
}

TEST(Consent, IsNotNeededForOtherFiles) {
  for (const char* path :
       {"src/main.c", "README.md", ".git/index", ".git/HEAD", ".git/refs/heads/makefile", ".git/objects/ab/cdef",
        ".git/logs/HEAD", ".gitignore", "makefile.md", "head.ts", "src/gitconfig", "HEADER"}) {
    EXPECT_FALSE(needs(path)) << path;
  }
  EXPECT_FALSE(needs(".git", S_IFDIR | 0755));
  EXPECT_FALSE(needs("components/Head", S_IFDIR | 0755));
  EXPECT_FALSE(needs("components/Head/index.ts"));
}

TEST(Consent, NamesAreComparedAsFileSystemsFoldThem) {
  for (const char* path : {".GIT/hooks/x", ".git./hooks/x", ".git /config", ".git::$INDEX_ALLOCATION/config",
                           "GIT~1/hooks/x", ".g\xE2\x80\x8Cit/hooks/x", "MAKEFILE",
                           "Ma\xE2\x84\xAA"
                           "efile",
                           ".v\xC5\xBF"
                           "code/tasks.json",
                           "makefile...", "Package.JSON"}) {
    EXPECT_TRUE(needs(path)) << path;
  }
}

TEST(Consent, IsNeededForAnythingButADirectoryNamedGit) {
  EXPECT_TRUE(needs(".git"));
  EXPECT_TRUE(needs(".git", S_IFLNK | 0777, "elsewhere"));
  EXPECT_FALSE(why_consent({.path = ".git", .kind = Kind::deleted, .old_mode = S_IFDIR | 0755}).empty());
  EXPECT_FALSE(
      why_consent({.path = ".git", .kind = Kind::changed, .mode = S_IFDIR | 0755, .old_mode = S_IFREG}).empty());
}

TEST(Consent, IsNeededForLinksThatLeadOut) {
  EXPECT_TRUE(needs("a", S_IFLNK, "/etc/passwd"));
  EXPECT_TRUE(needs("a", S_IFLNK, "/workspace/b"));
  EXPECT_TRUE(needs("a", S_IFLNK, "../b"));
  EXPECT_TRUE(needs("a/b", S_IFLNK, "../../c"));
  EXPECT_TRUE(needs("a/b", S_IFLNK, "link/../../c"));
  EXPECT_FALSE(needs("a", S_IFLNK, "b"));
  EXPECT_FALSE(needs("a/b", S_IFLNK, "../c"));
  EXPECT_FALSE(needs("a/b/c", S_IFLNK, ".././../d"));
  EXPECT_FALSE(needs("a", S_IFLNK, ""));
}

}  // namespace
}  // namespace skiff::container::changes
