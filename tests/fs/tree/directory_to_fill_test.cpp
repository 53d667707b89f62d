#include "fs/tree/directory_to_fill.hpp"

#include <filesystem>
#include <optional>

#include "tests/support/files_test.hpp"

namespace skiff::fs {
namespace {

class DirectoryToFillTest : public test::Files {
 public:
  DirectoryToFill opened(const char* path) {
    auto directory = DirectoryToFill::open(tree, path);
    EXPECT_TRUE(directory) << path;
    return std::move(*directory);
  }
  const Tree tree = open_tree();
  [[nodiscard]] bool is_there(const char* path) const { return std::filesystem::exists(root / path); }
};

TEST_F(DirectoryToFillTest, IsRemovedUnlessKept) {
  for (const char* path : {"a", "a/b/c", "a/b/"}) {
    {
      const auto directory = opened(path);
      EXPECT_TRUE(is_there(path) && directory.fd());
    }
    EXPECT_FALSE(is_there("a")) << path;
  }
  opened("a/b").keep();
  EXPECT_TRUE(is_there("a/b"));
  {
    const auto inside = opened("a/b/c/d");
  }
  EXPECT_TRUE(is_there("a/b"));
  EXPECT_FALSE(is_there("a/b/c"));
}

TEST_F(DirectoryToFillTest, StaysIfItExistedBefore) {
  std::filesystem::create_directory(root / "a");
  for (const char* path : {"a", "", "."}) {
    const auto directory = opened(path);
  }
  EXPECT_TRUE(is_there("a"));
}

TEST_F(DirectoryToFillTest, StaysIfInUse) {
  {
    const auto directory = opened("a/b");
    test::put(root / "a" / "f", "in use");
  }
  EXPECT_TRUE(is_there("a/f"));
  EXPECT_FALSE(is_there("a/b"));
}

TEST_F(DirectoryToFillTest, LeavesADirectoryThatReplacedIt) {
  {
    const auto directory = opened("a");
    std::filesystem::rename(root / "a", root / "moved");
    std::filesystem::create_directory(root / "a");
  }
  EXPECT_TRUE(is_there("a"));
}

TEST_F(DirectoryToFillTest, MustBeADirectory) {
  test::put(root / "f", "");
  std::filesystem::create_symlink("nowhere", root / "link");
  EXPECT_EQ(DirectoryToFill::open(tree, "f").error().code, Errc::not_a_directory);
  EXPECT_EQ(DirectoryToFill::open(tree, "link").error().code, Errc::already_exists);
  EXPECT_EQ(DirectoryToFill::open(tree, "../x").error().code, Errc::path_escapes_root);
}

}  // namespace
}  // namespace skiff::fs
