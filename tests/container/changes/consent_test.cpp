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
                           "x.code-workspace",
                           ".hg/hgrc",
                           "sub/.jj/repo/config.toml",
                           ".sl/config",
                           "Taskfile.yaml",
                           "Taskfile.dist.yml",
                           ".justfile",
                           ".yarnrc",
                           ".yarnrc.yml",
                           ".pnpmfile.cjs",
                           "mise.toml",
                           "mise.local.toml",
                           ".mise.local.toml",
                           ".mise/config.toml",
                           ".config/mise/config.toml",
                           "sub/.config/mise/conf.d/a.toml",
                           ".config/mise.toml",
                           "mise/config.toml",
                           ".cargo/config.toml",
                           "build.rs",
                           "rust-toolchain.toml",
                           "tools/bazel",
                           ".bazeliskrc",
                           "lefthook.yml",
                           ".lefthook.yml",
                           "lefthook-local.yml",
                           ".dir-locals.el",
                           ".lvimrc",
                           ".lazy.lua",
                           ".windsurf/rules/a.md",
                           ".kiro/hooks/a",
                           ".cursorrules",
                           "opencode.json",
                           "CLAUDE.md",
                           "sub/AGENTS.md",
                           "GEMINI.md",
                           ".gitattributes",
                           "conftest.py",
                           "setup.py"}) {
    EXPECT_TRUE(needs(path)) << path;
  }
}

TEST(Consent, IsNotNeededForOtherFiles) {
  for (const char* path : {"src/main.c",
                           "README.md",
                           ".git/index",
                           ".git/HEAD",
                           ".git/refs/heads/makefile",
                           ".git/objects/ab/cdef",
                           ".git/logs/HEAD",
                           ".gitignore",
                           "makefile.md",
                           "head.ts",
                           "src/gitconfig",
                           "HEADER",
                           ".config/other.toml",
                           "config/mise/a",
                           "a.config/mise/a",
                           "tools/bazel.md",
                           "src/tools/a",
                           "mise/README.md",
                           "a/claude.md.txt",
                           ".github/workflows/ci.yml"}) {
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

TEST(Consent, IsNeededForLinksOntoWhatNeedsIt) {
  EXPECT_TRUE(needs("dist", S_IFLNK, ".git/hooks"));
  EXPECT_TRUE(needs("out.log", S_IFLNK, ".git/config"));
  EXPECT_TRUE(needs("dist", S_IFLNK, ".git"));
  EXPECT_TRUE(needs("dist", S_IFLNK, ".GIT./hooks/"));
  EXPECT_TRUE(needs("a/b", S_IFLNK, "./.././/.git/hooks"));
  EXPECT_TRUE(needs("a/b/c", S_IFLNK, "../d/.vscode"));
  EXPECT_TRUE(needs("a", S_IFLNK, "Makefile"));
  EXPECT_TRUE(needs("a", S_IFLNK, ".git/logs/HEAD"));
  EXPECT_FALSE(needs("a/b", S_IFLNK, "hooks"));
  EXPECT_FALSE(needs("a/b", S_IFLNK, "../git/hooks"));
  EXPECT_FALSE(needs("a", S_IFLNK, "."));
  EXPECT_FALSE(needs("a/b", S_IFLNK, ".."));
}

TEST(Consent, IsNeededForLinksThatStandForAPartOfAProtectedPath) {
  EXPECT_TRUE(needs(".config", S_IFLNK, "a"));
  EXPECT_TRUE(needs("sub/tools", S_IFLNK, "a"));
  EXPECT_TRUE(needs("a", S_IFLNK, ".config"));
  EXPECT_TRUE(needs(".git/logs/HEAD", S_IFLNK, "a"));
  EXPECT_TRUE(needs(".git/objects", S_IFLNK, "../a"));
  EXPECT_FALSE(needs(".config/a", S_IFLNK, "b"));
  EXPECT_FALSE(needs(".config", S_IFDIR | 0755));
  EXPECT_FALSE(needs("tools"));
}

TEST(Consent, DoesNotRepeatTheTargetOfALink) {
  EXPECT_EQ(why_consent({.path = "a", .mode = S_IFLNK, .target = ".git/\x1b[2J"}),
            "it is a link to a place that needs --yes");
}

}  // namespace
}  // namespace skiff::container::changes
