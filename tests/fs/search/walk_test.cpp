#include "fs/search/walk.hpp"

#include <dirent.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/scratch_tree.hpp"

namespace skiff::fs {
namespace {

using Paths = std::vector<std::string>;

Paths paths(const test::ScratchTree& tree, const WalkOptions& options, const std::string& below = ".") {
  Paths found;
  std::mutex mutex;
  const WalkSummary summary = walk(tree.open(below), options, {}, [&](const WalkEntry& entry) {
    const std::lock_guard lock{mutex};
    found.emplace_back(entry.path);
    return WalkStep::go_on;
  });
  EXPECT_EQ(summary.unreadable, 0U);
  if (!options.sorted) std::ranges::sort(found);
  return found;
}

TEST(Walk, VisitsEverythingBeneathInOrder) {
  const test::ScratchTree tree;
  tree.write("b/y");
  tree.write("b/x");
  tree.write("a");
  tree.write("c/d/e");
  tree.link("link", "b");
  EXPECT_EQ(paths(tree, {.sorted = true}), (Paths{"a", "b", "b/x", "b/y", "c", "c/d", "c/d/e", "link"}));
  EXPECT_EQ(paths(tree, {}), (Paths{"a", "b", "b/x", "b/y", "c", "c/d", "c/d/e", "link"}));
  EXPECT_EQ(paths(tree, {.prefix = "pre/b"}, "b"), (Paths{"pre/b/x", "pre/b/y"}));
}

TEST(Walk, TellsKindsAndGivesTheDirectoryOfEachName) {
  const test::ScratchTree tree;
  tree.write("folder/file", "12345");
  tree.link("folder/link", "nowhere");
  ASSERT_EQ(tree.shell("mkfifo folder/fifo"), 0);
  std::set<std::pair<std::string, WalkEntry::Kind>> seen;
  (void)walk(tree.open(), {}, {}, [&](const WalkEntry& entry) {
    seen.emplace(entry.name, entry.kind);
    struct stat info{};
    EXPECT_EQ(::fstatat(entry.directory, entry.name, &info, AT_SYMLINK_NOFOLLOW), 0);
    EXPECT_EQ(info.st_size == 5 && S_ISREG(info.st_mode), std::string_view{entry.name} == "file");
    return WalkStep::go_on;
  });
  using Kind = WalkEntry::Kind;
  EXPECT_EQ(seen, (decltype(seen){
                      {"folder", Kind::directory}, {"file", Kind::file}, {"link", Kind::link}, {"fifo", Kind::other}}));
}

TEST(Walk, SkipsHiddenAndIgnoredNamesUnlessTold) {
  const test::ScratchTree tree;
  tree.write(".gitignore", "out/\n*.o\n");
  tree.write(".hidden/x");
  tree.write(".git/config");
  tree.write("out/file");
  tree.write("src/a.o");
  tree.write("src/a.c");
  EXPECT_EQ(paths(tree, {}), (Paths{"src", "src/a.c"}));
  EXPECT_EQ(paths(tree, {.hidden = true}), (Paths{".gitignore", ".hidden", ".hidden/x", "src", "src/a.c"}));
  EXPECT_EQ(paths(tree, {.ignored = true}), (Paths{"out", "out/file", "src", "src/a.c", "src/a.o"}));
  EXPECT_EQ(paths(tree, {.everything = true}).size(), 10U);
}

TEST(Walk, HonoursTheRulesOfTheDirectoriesAboveWhereItBegins) {
  const test::ScratchTree tree;
  tree.write(".gitignore", "*.o\n/src/lib/gen\n");
  tree.write("src/.gitignore", "!keep.o\n");
  tree.write("src/lib/a.o");
  tree.write("src/lib/keep.o");
  tree.write("src/lib/gen/x");
  tree.write("src/lib/a.c");
  const UniqueFd root = tree.open();
  EXPECT_EQ(paths(tree, {.prefix = "src/lib", .root = root.get()}, "src/lib"),
            (Paths{"src/lib/a.c", "src/lib/keep.o"}));
}

TEST(Walk, LeavesOutDirectoriesAndStopsWhenTold) {
  const test::ScratchTree tree;
  for (const char* name : {"a/x", "b/x", "c/x"}) tree.write(name);
  Paths found;
  WalkSummary summary = walk(tree.open(), {.sorted = true}, {}, [&](const WalkEntry& entry) {
    found.emplace_back(entry.path);
    return entry.path == "b" ? WalkStep::leave_out : WalkStep::go_on;
  });
  EXPECT_EQ(found, (Paths{"a", "a/x", "b", "c", "c/x"}));
  EXPECT_FALSE(summary.stopped);
  for (const bool sorted : {false, true}) {
    int visits = 0;
    summary = walk(tree.open(), {.sorted = sorted}, {}, [&](const WalkEntry&) {
      ++visits;
      return WalkStep::stop;
    });
    EXPECT_EQ(visits, 1);
    EXPECT_TRUE(summary.stopped);
  }
  std::stop_source source;
  source.request_stop();
  summary = walk(tree.open(), {}, source.get_token(), [&](const WalkEntry&) {
    ADD_FAILURE();
    return WalkStep::go_on;
  });
  EXPECT_TRUE(summary.stopped);
}

TEST(Walk, FindsTheSameOnAnyNumberOfThreads) {
  const test::ScratchTree tree;
  Paths wanted;
  for (int directory = 0; directory < 30; ++directory) {
    for (int file = 0; file < (directory == 7 ? 1500 : 10); ++file) {
      tree.write("f" + std::to_string(directory) + "/sub/" + std::to_string(file));
    }
  }
  wanted = paths(tree, {.sorted = true});
  std::ranges::sort(wanted);
  EXPECT_EQ(wanted.size(), 29U * 10 + 1500 + 60);
  for (const unsigned threads : {1U, 2U, 4U}) {
    EXPECT_TRUE(paths(tree, {.threads = threads}) == wanted) << threads;
  }
}

TEST(Walk, StopsOnSeveralThreadsToo) {
  const test::ScratchTree tree;
  for (int i = 0; i < 1500; ++i) tree.write("d" + std::to_string(i % 10) + "/" + std::to_string(i));
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> visits = 0;
    const auto summary = walk(tree.open(), {.threads = 4}, {}, [&](const WalkEntry&) {
      return ++visits > round * 20 ? WalkStep::stop : WalkStep::go_on;
    });
    EXPECT_TRUE(summary.stopped);
    EXPECT_LT(visits, 1500);
  }
}

/// The number of open descriptors of this process.
std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator{"/proc/self/fd"}) ++count;
  return count;
}

TEST(Walk, KeepsFewDescriptorsOpenInDeepTrees) {
  const test::ScratchTree tree;
  // Each level has a second directory, which waits in the queue while the first is walked.
  UniqueFd at = tree.open();
  constexpr std::size_t depth = 300;
  for (std::size_t i = 0; i < depth; ++i) {
    ASSERT_EQ(::mkdirat(at.get(), "a", 0755), 0);
    ASSERT_EQ(::mkdirat(at.get(), "b", 0755), 0);
    at.reset(::openat(at.get(), i % 2 == 0 ? "a" : "b", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  at.reset();
  const std::size_t before = open_descriptors();
  for (const bool sorted : {false, true}) {
    std::size_t visits = 0, most = 0;
    const auto summary = walk(tree.open(), {.sorted = sorted}, {}, [&](const WalkEntry&) {
      if (++visits % 50 == 0) most = std::max(most, open_descriptors() - before);
      return WalkStep::go_on;
    });
    EXPECT_EQ(visits, depth * 2);
    EXPECT_EQ(summary.unreadable, 0U);
    EXPECT_LT(most, 140U);
  }
  EXPECT_EQ(open_descriptors(), before);
}

TEST(Walk, CountsUnreadableEntries) {
  const test::ScratchTree tree;
  tree.write("closed/x");
  tree.write("open/x");
  ASSERT_EQ(tree.shell("chmod 0 closed && chmod 755 ."), 0);
  const UniqueFd top = tree.open();
  // Root may read everything, so this thread acts as another user.
  const bool is_root = ::geteuid() == 0;
  if (is_root) ::setfsuid(65534);
  Paths found;
  const auto summary = walk(top, {.sorted = true}, {}, [&](const WalkEntry& entry) {
    found.emplace_back(entry.path);
    return WalkStep::go_on;
  });
  if (is_root) ::setfsuid(0);
  EXPECT_EQ(found, (Paths{"closed", "open", "open/x"}));
  EXPECT_EQ(summary.unreadable, 1U);
  (void)tree.shell("chmod 755 closed");
}

TEST(Walk, DoesNotEnterVirtualFileSystems) {
  const UniqueFd root{::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  bool inside = false;
  (void)walk(root, {.ignored = true}, {}, [&](const WalkEntry& entry) {
    inside = inside || entry.path.starts_with("proc/");
    return entry.path == "proc" || entry.path == "sys" ? WalkStep::go_on : WalkStep::leave_out;
  });
  EXPECT_FALSE(inside);
}

}  // namespace
}  // namespace skiff::fs
