#include "container/host/state_directory.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/small_file.hpp"
#include "base/unique_fd.hpp"
#include "tests/support/temporary_directory.hpp"

namespace skiff::container {
namespace {

namespace files = std::filesystem;

unsigned mode_of(const files::path& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 ? status.st_mode & 07777U : 0;
}

TEST(StateDirectory, IsMadeForItsUserAlone) {
  const test::TemporaryDirectory top;
  const auto state = StateDirectory::open(top.path() / "a/b");
  ASSERT_TRUE(state) << state.error().message;
  EXPECT_EQ(mode_of(state->path()), 0700U);
  files::permissions(state->path(), files::perms{0777});
  ASSERT_TRUE(StateDirectory::open(top.path() / "a/b"));
  EXPECT_EQ(mode_of(state->path()), 0700U);
}

TEST(StateDirectory, IsRefusedWhereAFileStands) {
  const test::TemporaryDirectory top;
  ASSERT_TRUE(write_private_file(top.path() / "file", "x"));
  EXPECT_FALSE(StateDirectory::open(top.path() / "file"));
}

TEST(StateDirectory, HasOneKeyHoweverManyAskAtOnce) {
  const test::TemporaryDirectory top;
  const auto state = StateDirectory::open(top.path() / "s");
  ASSERT_TRUE(state);
  std::vector<std::string> keys(8);
  {
    std::vector<std::jthread> threads;
    for (std::string& key : keys) {
      threads.emplace_back([&] { key = state->signing_key().value().public_pem().value(); });
    }
  }
  for (const std::string& key : keys) EXPECT_EQ(key, keys.front());
  EXPECT_EQ(mode_of(state->path() / "signing-key.pem"), 0600U);
  // The attempts that lost leave no file.
  EXPECT_EQ(std::distance(files::directory_iterator{state->path()}, {}), 1);
}

TEST(PrivateFile, IsReplacedAsAWhole) {
  const test::TemporaryDirectory top;
  const files::path path = top.path() / "file";
  ASSERT_TRUE(write_private_file(path, "one"));
  ASSERT_TRUE(write_private_file(path, "two"));
  EXPECT_EQ(read_small_file(path, 3).value(), "two");
  EXPECT_EQ(mode_of(path), 0600U);
  EXPECT_FALSE(write_private_file(top.path() / "none/file", "x"));
}

TEST(RemoveDirectory, TakesDirectoriesThatAreWriteProtectedAndFollowsNoLink) {
  const test::TemporaryDirectory top;
  files::create_directories(top.path() / "keep");
  ASSERT_TRUE(write_private_file(top.path() / "keep/file", "x"));
  files::create_directories(top.path() / "box/deep/er");
  files::create_directory_symlink(top.path() / "keep", top.path() / "box/deep/link");
  files::permissions(top.path() / "box/deep", files::perms{0500});
  ASSERT_TRUE(remove_directory(top.path() / "box"));
  EXPECT_FALSE(files::exists(top.path() / "box"));
  EXPECT_TRUE(files::exists(top.path() / "keep/file"));
  EXPECT_TRUE(remove_directory(top.path() / "box"));
}

/// A chain of directories, each in the one before.
void nest(const files::path& top, int levels) {
  UniqueFd at{::open(top.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
  for (int level = 0; level < levels; ++level) {
    ASSERT_EQ(::mkdirat(at.get(), "d", 0700), 0);
    UniqueFd inner{::openat(at.get(), "d", O_PATH | O_DIRECTORY | O_CLOEXEC)};
    ASSERT_TRUE(inner);
    ASSERT_EQ(::symlinkat("/etc", inner.get(), "link"), 0);
    if (level % 7 == 0) {
      ASSERT_EQ(::mkdirat(inner.get(), "closed", 0), 0);
    }
    at = std::move(inner);
  }
}

TEST(RemoveDirectory, NeedsNoMoreDescriptorsForADeeperOne) {
  const test::TemporaryDirectory top;
  files::create_directories(top.path() / "box/files");
  nest(top.path() / "box/files", 3000);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{.rlim_cur = 64, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  const auto removed = remove_directory(top.path() / "box");
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(removed) << removed.error().message;
  EXPECT_FALSE(files::exists(top.path() / "box"));
  EXPECT_TRUE(files::exists("/etc/passwd"));
}

TEST(RemoveDirectory, RemovesAFileAndALinkAndNotWhatTheLinkMeans) {
  const test::TemporaryDirectory top;
  files::create_directories(top.path() / "keep/in");
  files::create_directory_symlink(top.path() / "keep", top.path() / "link");
  EXPECT_TRUE(remove_directory(top.path() / "link"));
  EXPECT_FALSE(files::is_symlink(top.path() / "link"));
  EXPECT_TRUE(files::exists(top.path() / "keep/in"));
}

}  // namespace
}  // namespace skiff::container
