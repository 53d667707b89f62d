#include "fs/path/descend.hpp"

#include <sys/stat.h>

#include <gtest/gtest.h>

#include "tests/support/scratch_tree.hpp"

namespace skiff::fs {
namespace {

ino_t inode(int fd) {
  struct stat info{};
  EXPECT_EQ(::fstat(fd, &info), 0);
  return info.st_ino;
}

TEST(Descend, OpensDirectoriesComponentByComponent) {
  const test::ScratchTree tree;
  tree.directory("a/b");
  const UniqueFd top = tree.open();
  EXPECT_EQ(inode(descend(top.get(), "a/b")->get()), inode(tree.open("a/b").get()));
  EXPECT_EQ(inode(descend(top.get(), "./a//b/.")->get()), inode(tree.open("a/b").get()));
  EXPECT_EQ(inode(descend(top.get(), "")->get()), inode(top.get()));
}

TEST(Descend, RefusesLinksAndTheWayUp) {
  const test::ScratchTree tree;
  tree.directory("a/b");
  tree.write("file");
  tree.link("a/inside", "b");
  tree.link("a/outside", "/");
  const UniqueFd top = tree.open();
  EXPECT_EQ(descend(top.get(), "a/inside").error().code, Errc::path_escapes_root);
  EXPECT_EQ(descend(top.get(), "a/outside/etc").error().code, Errc::path_escapes_root);
  EXPECT_EQ(descend(top.get(), "a/../a").error().code, Errc::path_escapes_root);
  EXPECT_EQ(descend(top.get(), "a/none").error().code, Errc::path_not_found);
  EXPECT_EQ(descend(top.get(), "file").error().code, Errc::path_not_found);
}

TEST(CleanPath, LeavesOutEmptyPartsAndDots) {
  EXPECT_EQ(clean_path("./a//b/./c/").value(), "a/b/c");
  EXPECT_EQ(clean_path("").value(), "");
  EXPECT_EQ(clean_path("./").value(), "");
  EXPECT_EQ(clean_path("a..b/...").value(), "a..b/...");
  EXPECT_EQ(clean_path("/a").error().code, Errc::path_escapes_root);
  EXPECT_EQ(clean_path("a/..").error().code, Errc::path_escapes_root);
  EXPECT_EQ(clean_path("../a").error().code, Errc::path_escapes_root);
  EXPECT_EQ(clean_path(std::string_view{"a\0b", 3}).error().code, Errc::invalid_field);
  EXPECT_TRUE(clean_path(std::string(255, 'a')));
  EXPECT_EQ(clean_path(std::string(256, 'a')).error().code, Errc::name_too_long);
}

TEST(DirectoryAndName, SplitsTheNameFromItsDirectory) {
  EXPECT_EQ(directory_and_name("a/b/c").directory, "a/b");
  EXPECT_EQ(directory_and_name("a/b/c").name, "c");
  EXPECT_EQ(directory_and_name("c").directory, "");
  EXPECT_EQ(directory_and_name("c/").name, "c");
  EXPECT_EQ(directory_and_name("").name, "");
  EXPECT_EQ(directory_and_name(".").name, "");
}

}  // namespace
}  // namespace skiff::fs
