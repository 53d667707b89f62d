#include "fs/watch/watch.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/unique_fd.hpp"
#include "tests/support/scratch_tree.hpp"

namespace skiff::fs {
namespace {

using Type = WatchEvent::Type;
using Events = std::vector<WatchEvent>;
using Lines = std::vector<std::string>;
using std::chrono::milliseconds;

std::string line(const WatchEvent& event) {
  constexpr const char* names[] = {"created", "modified", "deleted", "renamed", "overflow"};
  return std::string{names[static_cast<int>(event.type)]} + " " + event.path +
         (event.from.empty() ? "" : " from " + event.from);
}

class WatchTest : public ::testing::Test {
 protected:
  void start(WatchOptions options = {.recursive = true}, const std::string& below = ".") {
    auto opened = Watch::open(tree_.open(below), options, {});
    ASSERT_TRUE(opened) << opened.error().message;
    watch_.emplace(std::move(*opened));
    cursor_ = watch_->newest();
  }
  /// Takes the events from the queue, and expires halves of renames.
  Events take() {
    while (watch_->drain(Watch::Clock::now() + std::chrono::hours{1}).value()) {
    }
    EXPECT_FALSE(watch_->drain(Watch::Clock::now() + std::chrono::hours{2}).value());
    Events events = watch_->after(cursor_, 1'000'000);
    for (const WatchEvent& event : events) {
      if (event.type != Type::overflow) EXPECT_EQ(event.cursor, cursor_ + 1);
      cursor_ = event.cursor;
    }
    return events;
  }
  Lines lines() {
    Lines all;
    for (const WatchEvent& event : take()) all.push_back(line(event));
    return all;
  }

  test::ScratchTree tree_;
  std::optional<Watch> watch_;
  std::uint64_t cursor_ = 0;
};

TEST_F(WatchTest, TellsOfFilesInItsDirectory) {
  tree_.directory("sub");
  start({});
  tree_.write("a", "1");
  EXPECT_EQ(lines(), (Lines{"created a", "modified a"}));
  tree_.write("a", "22");
  EXPECT_EQ(lines(), (Lines{"modified a"}));
  ASSERT_EQ(tree_.shell("chmod 600 a"), 0);
  EXPECT_EQ(lines(), (Lines{"modified a"}));
  std::filesystem::remove(tree_ / "a");
  EXPECT_EQ(lines(), (Lines{"deleted a"}));
  tree_.write("sub/x");
  EXPECT_EQ(lines(), (Lines{})) << "not recursive";
  tree_.directory("new");
  tree_.write("new/x");
  EXPECT_EQ(lines(), (Lines{"created new"}));
}

TEST_F(WatchTest, TellsNothingOfFilesWithoutAName) {
  tree_.directory("sub");
  start();
  for (const char* place : {".", "sub"}) {
    const UniqueFd directory = tree_.open(place);
    const UniqueFd file{::openat(directory.get(), ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)};
    if (!file) GTEST_SKIP() << "this file system has none";
    ASSERT_EQ(::write(file.get(), "x", 1), 1);
    ASSERT_EQ(::fchmod(file.get(), 0644), 0);
    EXPECT_EQ(lines(), (Lines{})) << place;
    const std::string path = "/proc/self/fd/" + std::to_string(file.get());
    ASSERT_EQ(::linkat(AT_FDCWD, path.c_str(), directory.get(), "named", AT_SYMLINK_FOLLOW), 0);
    const std::string name = place == std::string{"."} ? "named" : "sub/named";
    EXPECT_EQ(lines(), (Lines{"created " + name}));
  }
}

TEST_F(WatchTest, TellsOfFilesThatAreCalledLikeThose) {
  tree_.directory("sub");
  start();
  tree_.write("#12", "x");
  tree_.write("sub/#34", "x");
  EXPECT_EQ(lines(), (Lines{"created #12", "modified #12", "created sub/#34", "modified sub/#34"}));
}

TEST_F(WatchTest, BecomesReadableWhenSomethingHappens) {
  start({});
  pollfd ready{watch_->fd(), POLLIN, 0};
  EXPECT_EQ(::poll(&ready, 1, 0), 0);
  tree_.write("a");
  EXPECT_EQ(::poll(&ready, 1, 10'000), 1);
  EXPECT_EQ(lines(), (Lines{"created a"}));
  EXPECT_EQ(::poll(&ready, 1, 0), 0);
}

TEST_F(WatchTest, PutsThePrefixInFrontAndGoesIntoDirectoriesThatExist) {
  tree_.directory("top/a/b");
  start({.prefix = "top", .recursive = true}, "top");
  tree_.write("top/a/b/c");
  EXPECT_EQ(lines(), (Lines{"created top/a/b/c"}));
}

TEST_F(WatchTest, PairsRenames) {
  tree_.write("a/file", "x");
  tree_.directory("b");
  start();
  std::filesystem::rename(tree_ / "a/file", tree_ / "a/new");
  std::filesystem::rename(tree_ / "a/new", tree_ / "b/other");
  EXPECT_EQ(lines(), (Lines{"renamed a/new from a/file", "renamed b/other from a/new"}));
  tree_.write("b/temporary", "1");
  std::filesystem::rename(tree_ / "b/temporary", tree_ / "b/other");
  EXPECT_EQ(lines(), (Lines{"created b/temporary", "modified b/temporary", "renamed b/other from b/temporary"}));
}

TEST_F(WatchTest, HoldsAFirstHalfForAWhile) {
  const test::ScratchTree outside;
  tree_.write("a");
  start();
  const auto now = Watch::Clock::now();
  std::filesystem::rename(tree_ / "a", outside / "a");
  EXPECT_FALSE(watch_->drain(now).value());
  EXPECT_TRUE(watch_->after(0, 10).empty());
  EXPECT_EQ(watch_->deadline(), now + milliseconds{20});
  EXPECT_FALSE(watch_->drain(now + milliseconds{19}).value());
  EXPECT_TRUE(watch_->after(0, 10).empty());
  EXPECT_FALSE(watch_->drain(now + milliseconds{20}).value());
  EXPECT_EQ(line(watch_->after(0, 10).at(0)), "deleted a");
  EXPECT_FALSE(watch_->deadline());
  std::filesystem::rename(outside / "a", tree_ / "b");
  EXPECT_EQ(watch_->drain().has_value(), true);
  EXPECT_EQ(line(watch_->after(1, 10).at(0)), "created b");
}

TEST_F(WatchTest, FollowsDirectoriesThatAreMoved) {
  const test::ScratchTree outside;
  tree_.directory("a/b");
  tree_.directory("c");
  start();
  std::filesystem::rename(tree_ / "a", tree_ / "c/a");
  EXPECT_EQ(lines(), (Lines{"renamed c/a from a"}));
  tree_.write("c/a/b/x");
  EXPECT_EQ(lines(), (Lines{"created c/a/b/x"}));
  std::filesystem::rename(tree_ / "c/a", outside / "a");
  EXPECT_EQ(lines(), (Lines{"deleted c/a"}));
  outside.write("a/b/y");
  EXPECT_EQ(lines(), (Lines{})) << "out of sight";
  std::filesystem::rename(outside / "a", tree_ / "back");
  Lines all = lines();
  std::ranges::sort(all);
  EXPECT_EQ(all, (Lines{"created back", "created back/b", "created back/b/x", "created back/b/y"}));
  tree_.write("back/b/z");
  EXPECT_EQ(lines(), (Lines{"created back/b/z"}));
}

TEST_F(WatchTest, TellsWhatWasMadeBeforeANewDirectoryWasWatched) {
  start();
  ASSERT_EQ(tree_.shell("mkdir -p a/b/c && echo x >a/b/c/file"), 0);
  Lines all = lines();
  std::ranges::sort(all);
  EXPECT_EQ(all, (Lines{"created a", "created a/b", "created a/b/c", "created a/b/c/file"}));
  tree_.write("a/b/c/file", "y");
  EXPECT_EQ(lines(), (Lines{"modified a/b/c/file"}));
}

TEST_F(WatchTest, MissesAndRepeatsNothingOfATreeThatGrowsMeanwhile) {
  start();
  // Another process creates the tree while the watch is drained, so that all interleavings happen at times.
  const std::string script =
      "for i in 1 2 3 4 5 6 7 8 9 10; do for j in 1 2 3 4 5; do mkdir -p d$i/e$j/f && : >d$i/e$j/f/x && : >d$i/e$j/y;"
      " done; done; : >done";
  FILE* child = ::popen(("cd '" + tree_.path().string() + "' && " + script).c_str(), "r");
  ASSERT_NE(child, nullptr);
  std::map<std::string, int> created;
  for (bool done = false; !done;) {
    pollfd ready{watch_->fd(), POLLIN, 0};
    ASSERT_EQ(::poll(&ready, 1, 10'000), 1) << "nothing came for ten seconds";
    ASSERT_TRUE(watch_->drain());
    for (const WatchEvent& event : watch_->after(cursor_, 100'000)) {
      cursor_ = event.cursor;
      if (event.type == Type::created) ++created[event.path];
      done = done || event.path == "done";
    }
  }
  EXPECT_EQ(::pclose(child), 0);
  for (const WatchEvent& event : take()) {
    if (event.type == Type::created) ++created[event.path];
  }
  EXPECT_EQ(created.size(), 10U + 50 + 50 + 50 + 50 + 1);
  for (const auto& [path, times] : created) EXPECT_EQ(times, 1) << path;
}

TEST_F(WatchTest, ForgetsDirectoriesThatAreRemoved) {
  tree_.write("a/b/x");
  start();
  std::filesystem::remove_all(tree_ / "a");
  EXPECT_EQ(lines(), (Lines{"deleted a/b/x", "deleted a/b", "deleted a"}));
  tree_.write("a/b/x");
  Lines all = lines();
  std::ranges::sort(all);
  EXPECT_EQ(all, (Lines{"created a", "created a/b", "created a/b/x"}));
}

TEST_F(WatchTest, TellsThatEventsWereLostAndGoesOn) {
  tree_.directory("a");
  start({.recursive = true, .most_events = 100'000});
  // Make more events than fs.inotify.max_queued_events, without a drain. Links to one inode are cheap, and each makes
  // two events.
  std::size_t most = 16'384;
  std::ifstream{"/proc/sys/fs/inotify/max_queued_events"} >> most;
  ASSERT_LE(most, 100'000U);
  const UniqueFd directory = tree_.open("a");
  tree_.write("a/x");
  for (std::size_t i = 0; i < most / 2 + 10; ++i) {
    ASSERT_EQ(::linkat(directory.get(), "x", directory.get(), "y", 0), 0);
    ASSERT_EQ(::unlinkat(directory.get(), "y", 0), 0);
  }
  tree_.write("a/unseen/file");
  const Events events = take();
  EXPECT_EQ(std::ranges::count(events, Type::overflow, &WatchEvent::type), 1);
  EXPECT_FALSE(std::ranges::any_of(events, [](const WatchEvent& event) { return event.path == "a/unseen/file"; }));
  tree_.write("a/unseen/other");
  EXPECT_EQ(lines(), (Lines{"created a/unseen/other"})) << "the directory that no event told of is watched";
}

TEST_F(WatchTest, GivesOldEventsToThoseWhoComeBack) {
  start({.most_events = 4});
  for (const char* name : {"a", "b", "c"}) tree_.write(name);
  (void)watch_->drain();
  EXPECT_EQ(watch_->newest(), 3U);
  EXPECT_EQ(line(watch_->after(1, 1).at(0)), "created b");
  for (const char* name : {"d", "e", "f"}) tree_.write(name);
  (void)watch_->drain();
  const Events events = watch_->after(1, 100);
  ASSERT_EQ(events.size(), 5U);
  EXPECT_EQ(events[0].type, Type::overflow);
  EXPECT_EQ(events[1].path, "c");
}

TEST_F(WatchTest, IsBounded) {
  for (int i = 0; i < 5; ++i) tree_.directory("d" + std::to_string(i));
  const auto opened = Watch::open(tree_.open(), {.recursive = true, .most_directories = 5}, {});
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Errc::resource_exhausted);
  start({.recursive = true, .most_directories = 6});
  tree_.directory("more");
  EXPECT_EQ(lines(), (Lines{"created more", "overflow more"}));
}

TEST_F(WatchTest, EndsWithItsDirectory) {
  tree_.directory("gone");
  start({.prefix = "gone", .recursive = true}, "gone");
  EXPECT_FALSE(watch_->ended());
  std::filesystem::remove(tree_ / "gone");
  const Lines all = lines();
  EXPECT_EQ(all, (Lines{"deleted gone"}));
  EXPECT_TRUE(watch_->ended());
}

}  // namespace
}  // namespace skiff::fs
