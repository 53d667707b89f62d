#include "fs/tree/remove.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "tests/support/files_test.hpp"

namespace skiff::fs {
namespace {

using test::Names;
using test::names_in;
using test::put;
using test::word;

class RemoveTreeTest : public test::Files {
 public:
  Tree tree = open_tree();
  UniqueFd directory{::open(root.c_str(), O_PATH | O_CLOEXEC)};

  std::string remove(const std::string& name) const { return word(remove_tree(tree, directory.get(), name)); }
};

TEST_F(RemoveTreeTest, StopsWhenRequested) {
  std::filesystem::create_directories(root / "a/b");
  put(root / "a/b/f", "x");
  std::stop_source source;
  source.request_stop();
  EXPECT_EQ(word(remove_tree(tree, directory.get(), "a", source.get_token())), "cancelled");
  EXPECT_EQ(names_in(root), Names{"a"});
}

TEST_F(RemoveTreeTest, RemovesEverythingBelowAndNothingElse) {
  std::filesystem::create_directories(root / "a/b/c");
  std::filesystem::create_directories(root / "keep");
  put(root / "a/f", "x");
  put(root / "a/b/c/g", "x");
  ASSERT_EQ(::mkfifo((root / "a/b/fifo").c_str(), 0600), 0);
  EXPECT_EQ(remove("a"), "ok");
  EXPECT_EQ(names_in(root), Names{"keep"});
  put(root / "f", "x");
  EXPECT_EQ(remove("f"), "ok");
  EXPECT_EQ(remove("gone"), "ok");
}

TEST_F(RemoveTreeTest, RemovesLinksAndNotWhatTheyLeadTo) {
  std::filesystem::create_directories(root / "a/b");
  std::filesystem::create_directory_symlink(outside, root / "a/out");
  std::filesystem::create_directory_symlink("../../../outside", root / "a/b/out");
  std::filesystem::create_symlink(outside / "secret", root / "a/secret");
  EXPECT_EQ(remove("a"), "ok");
  EXPECT_EQ(names_in(outside), Names{"secret"});
  std::filesystem::create_directory_symlink(outside, root / "link");
  EXPECT_EQ(remove("link"), "ok");
  EXPECT_EQ(names_in(outside), Names{"secret"});
}

TEST_F(RemoveTreeTest, RemovesThousandsOfFilesInOneDirectory) {
  std::filesystem::create_directory(root / "a");
  for (int i = 0; i < 2'000; ++i) put(root / "a" / std::to_string(i), "");
  EXPECT_EQ(remove("a"), "ok");
  EXPECT_EQ(names_in(root), Names{});
}

TEST_F(RemoveTreeTest, RemovesDirectoriesOfAnyDepth) {
  // The tree is deeper than the longest path, and deeper than the descriptors that the removal holds.
  const std::string name(200, 'd');
  std::filesystem::create_directory(root / "deep");
  UniqueFd at{::open((root / "deep").c_str(), O_PATH | O_CLOEXEC)};
  for (int i = 0; i < 1500; ++i) {
    ASSERT_EQ(::mkdirat(at.get(), name.c_str(), 0777), 0);
    const UniqueFd file{::openat(at.get(), "f", O_CREAT | O_WRONLY | O_CLOEXEC, 0666)};
    at = UniqueFd{::openat(at.get(), name.c_str(), O_PATH | O_CLOEXEC)};
  }
  EXPECT_EQ(remove("deep"), "ok");
  EXPECT_EQ(names_in(root), Names{});
}

TEST_F(RemoveTreeTest, NeverLeavesTheTreeWhileADirectoryIsSwappedForALink) {
  for (int i = 0; i < 20; ++i) put(outside / ("victim" + std::to_string(i)), "");
  const Names before = names_in(outside);
  std::atomic<bool> stop = false;
  std::thread swapper{[&] {
    while (!stop) {
      ::renameat2(AT_FDCWD, (root / "a/b").c_str(), AT_FDCWD, (root / "link").c_str(), RENAME_EXCHANGE);
    }
  }};
  for (int i = 0; i < 200; ++i) {
    std::filesystem::remove_all(root / "link");
    std::filesystem::create_directory_symlink(outside, root / "link");
    std::filesystem::create_directories(root / "new/b/c/d");
    std::filesystem::rename(root / "new", root / "a");
    EXPECT_EQ(remove("a"), "ok");
    if (names_in(outside) != before) break;
  }
  stop = true;
  swapper.join();
  EXPECT_EQ(names_in(outside), before);
}

TEST_F(RemoveTreeTest, RemovesWhatIsAddedMeanwhile) {
  std::atomic<bool> stop = false;
  std::thread writer{[&] {
    for (int i = 0; !stop; ++i) {
      const UniqueFd file{::open((root / "a" / std::to_string(i % 100)).c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0666)};
    }
  }};
  int removed = 0;
  for (int i = 0; i < 100; ++i) {
    std::filesystem::create_directory(root / "a");
    const std::string result = remove("a");
    EXPECT_TRUE(result == "ok" || result == "directory_not_empty") << result;
    removed += result == "ok" ? 1 : 0;
  }
  stop = true;
  writer.join();
  EXPECT_GT(removed, 0);
}

TEST_F(RemoveTreeTest, LeavesARootThatCanOnlyBeRead) {
  std::filesystem::create_directories(root / "a/vendor");
  put(root / "a/vendor/f", "x");
  const Tree nested = Tree::open({.path = root}, {{.path = root / "a/vendor", .access = Access::read_only}}).value();
  EXPECT_EQ(word(remove_tree(nested, directory.get(), "a")), "permission_denied");
  EXPECT_TRUE(std::filesystem::exists(root / "a/vendor/f"));
}

TEST_F(RemoveTreeTest, LeavesNoDescriptorOpen) {
  const std::size_t before = test::open_descriptors();
  std::filesystem::create_directories(root / "a/b/c");
  (void)remove("a");
  EXPECT_EQ(test::open_descriptors(), before);
}

}  // namespace
}  // namespace skiff::fs
