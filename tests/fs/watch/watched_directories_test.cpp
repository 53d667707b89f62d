#include "fs/watch/watched_directories.hpp"

#include <sys/inotify.h>

#include <set>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/scratch_tree.hpp"

namespace skiff::fs {
namespace {

class WatchDirectoriesTest : public ::testing::Test {
 protected:
  void start(std::size_t most = 100) {
    top_ = tree_.open();
    directories_.emplace(inotify_, top_, "top", most, true);
    started_ = directories_->start({});
  }
  /// The number of the directory's watch; a second call returns the same.
  int watch_of(const std::string& name) {
    return ::inotify_add_watch(inotify_.get(), (tree_ / name).c_str(), IN_ONLYDIR | IN_MASK_ADD | IN_CREATE);
  }
  std::set<std::string> adopt(const std::string& parent, const std::string& name) {
    std::set<std::string> found;
    directories_->adopt(
        watch_of(parent), name, [&](const std::string& path, bool) { EXPECT_TRUE(found.insert(path).second); },
        [&](const std::string& path, const Error&) { found.insert("missed " + path); });
    return found;
  }

  test::ScratchTree tree_;
  UniqueFd top_;
  UniqueFd inotify_{::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)};
  std::optional<WatchDirectories> directories_;
  Result<> started_;
};

TEST_F(WatchDirectoriesTest, KnowsThePathsOfAllDirectories) {
  tree_.directory("a/b/c");
  tree_.write("a/file");
  tree_.link("a/link", "/");
  start();
  ASSERT_TRUE(started_);
  EXPECT_EQ(directories_->size(), 4U);
  EXPECT_EQ(directories_->path_of(watch_of("a/b/c")), "top/a/b/c");
  EXPECT_EQ(directories_->path_of(watch_of("a/b"), "x"), "top/a/b/x");
  EXPECT_TRUE(directories_->is_top(watch_of(".")));
}

TEST_F(WatchDirectoriesTest, MovesAndDropsWholeTrees) {
  tree_.directory("a/b/c");
  tree_.directory("d");
  start();
  const int a = watch_of("a"), c = watch_of("a/b/c"), d = watch_of("d");
  EXPECT_TRUE(directories_->move(a, "b", d, "moved"));
  EXPECT_EQ(directories_->path_of(c), "top/d/moved/c");
  EXPECT_FALSE(directories_->move(a, "b", d, "again"));
  directories_->drop(d, "moved");
  EXPECT_FALSE(directories_->knows(c));
  EXPECT_EQ(directories_->size(), 3U);
  directories_->remove_all();
  EXPECT_EQ(directories_->size(), 0U);
}

TEST_F(WatchDirectoriesTest, TellsWhatANewDirectoryHoldsAlready) {
  start();
  tree_.write("new/x/file");
  tree_.write("new/file");
  EXPECT_EQ(adopt(".", "new"), (std::set<std::string>{"top/new/x", "top/new/x/file", "top/new/file"}));
  EXPECT_EQ(directories_->size(), 3U);
  EXPECT_TRUE(directories_->take_told(watch_of("new"), "file"));
  EXPECT_FALSE(directories_->take_told(watch_of("new"), "file"));
  directories_->forget_told();
  EXPECT_FALSE(directories_->take_told(watch_of("new/x"), "file"));
}

TEST_F(WatchDirectoriesTest, IsBounded) {
  tree_.directory("a/b");
  start(2);
  ASSERT_FALSE(started_);
  EXPECT_EQ(started_.error().code, Errc::resource_exhausted);
  start(4);
  ASSERT_TRUE(started_);
  tree_.directory("c/d/e");
  EXPECT_EQ(adopt(".", "c"), (std::set<std::string>{"top/c/d", "missed top/c/d"}));
}

TEST_F(WatchDirectoriesTest, AdoptsNoLinks) {
  start();
  tree_.link("link", "/tmp");
  EXPECT_EQ(adopt(".", "link"), (std::set<std::string>{}));
  EXPECT_EQ(directories_->size(), 1U);
}

}  // namespace
}  // namespace skiff::fs
