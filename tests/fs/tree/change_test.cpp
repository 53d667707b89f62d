#include "fs/tree/change.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

#include "fs/content/read.hpp"
#include "fs/content/write.hpp"
#include "tests/support/files_test.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/own_mounts.hpp"

namespace skiff::fs {
namespace {

using test::get;
using test::Names;
using test::names_in;
using test::put;
using test::word;

class ChangeTest : public test::Files {
 public:
  Tree tree = open_tree();

  std::string tag(std::string_view path) const {
    const Seen seen = look_at(tree, path).value();
    return entity_tag(seen.object.get(), seen.entry).value();
  }
  static Conditions if_match(const std::string& tags) { return {.if_match = TagList::parse(tags).value()}; }
  static Transfer replacing() { return {.existing = Existing::replace}; }
  std::string book = library / "book";
};

TEST_F(ChangeTest, MakesDirectories) {
  EXPECT_EQ(word(create_directory(tree, "a")), "ok");
  EXPECT_EQ(word(create_directory(tree, "a")), "already_exists");
  EXPECT_EQ(word(create_directory(tree, "x/y/z/")), "path_not_found");
  EXPECT_TRUE(create_directory(tree, "x/y/z/", Parents::make)->created);
  EXPECT_FALSE(create_directory(tree, "x/y/z", Parents::make)->created);
  EXPECT_FALSE(create_directory(tree, ".", Parents::make)->created);
  EXPECT_TRUE(std::filesystem::is_directory(root / "x/y/z"));
  put(root / "f", "x");
  EXPECT_EQ(word(create_directory(tree, "f", Parents::make)), "already_exists");
  EXPECT_EQ(word(create_directory(tree, "f/x", Parents::make)), "not_a_directory");
  EXPECT_EQ(word(create_directory(tree, "../x")), "path_escapes_root");
  EXPECT_EQ(word(create_directory(tree, (library / "x").string())), "permission_denied");
}

TEST_F(ChangeTest, MakesLinksToAnywhereAndFollowsThemNowhereOutside) {
  EXPECT_EQ(create_link(tree, "link", "../outside/secret")->entry.target, "../outside/secret");
  EXPECT_EQ(word(open_to_read(tree, "link")), "path_escapes_root");
  EXPECT_EQ(word(create_link(tree, "link", "x")), "already_exists");
  EXPECT_EQ(word(create_link(tree, "a/b", "x")), "path_not_found");
  EXPECT_EQ(word(create_link(tree, "a/b", "x", Parents::make)), "ok");
  EXPECT_EQ(word(create_link(tree, "c", "")), "invalid_field");
  EXPECT_EQ(word(create_link(tree, "c", std::string_view{"a\0b", 3})), "invalid_field");
  EXPECT_EQ(word(create_link(tree, "c/", "x")), "is_a_directory");
}

TEST_F(ChangeTest, SetsTheModeOfWhatALinkLeadsTo) {
  put(root / "f", "x");
  std::filesystem::create_symlink("f", root / "link");
  std::filesystem::create_symlink(outside / "secret", root / "out");
  std::filesystem::create_symlink(book, root / "book");
  EXPECT_EQ(set_mode(tree, "link", 0741)->entry.mode, 0741U);
  EXPECT_EQ(look_at(tree, "f")->entry.mode, 0741U);
  EXPECT_EQ(word(set_mode(tree, "out", 0777)), "path_escapes_root");
  EXPECT_EQ(word(set_mode(tree, "book", 0777)), "permission_denied");
  EXPECT_EQ(word(set_mode(tree, "none", 0777)), "path_not_found");
  EXPECT_EQ(word(set_mode(tree, ".", 0750)), "ok");
  EXPECT_EQ(word(set_mode(tree, "f", 0600, if_match("\"h-00\""))), "precondition_failed");
  EXPECT_EQ(word(set_mode(tree, "f", 0600, if_match(tag("f")))), "ok");
}

TEST_F(ChangeTest, Removes) {
  put(root / "f", "x");
  std::filesystem::create_directories(root / "d/e");
  std::filesystem::create_directory_symlink("d", root / "link");
  EXPECT_EQ(word(remove(tree, "f")), "ok");
  EXPECT_EQ(word(remove(tree, "f")), "path_not_found");
  EXPECT_EQ(word(remove(tree, "link")), "ok");
  EXPECT_EQ(word(remove(tree, "d")), "directory_not_empty");
  EXPECT_EQ(word(remove(tree, "d/e")), "ok");
  EXPECT_EQ(word(remove(tree, "d")), "ok");
  std::filesystem::create_directories(root / "d/e/f");
  EXPECT_EQ(word(remove(tree, "d", Contents::remove)), "ok");
  EXPECT_EQ(names_in(root), Names{});
  for (const char* path : {".", "", "d/..", ".."}) EXPECT_NE(word(remove(tree, path, Contents::remove)), "ok") << path;
  EXPECT_EQ(word(remove(tree, root.string(), Contents::remove)), "invalid_field") << "a root stays";
  EXPECT_EQ(word(remove(tree, book)), "permission_denied");
}

TEST_F(ChangeTest, RemovesOnlyUnderItsConditions) {
  put(root / "f", "x");
  EXPECT_EQ(word(remove(tree, "f", Contents::refuse, if_match("\"m-1-2-3-4\""))), "precondition_failed");
  EXPECT_EQ(word(remove(tree, "f", Contents::refuse, if_match(tag("f")))), "ok");
  EXPECT_EQ(word(remove(tree, "f", Contents::refuse, if_match("*"))), "precondition_failed");
}

TEST_F(ChangeTest, Moves) {
  put(root / "f", "x");
  EXPECT_TRUE(move(tree, "f", "new/g")->created) << "parents are made";
  EXPECT_EQ(get(root / "new/g"), "x");
  EXPECT_EQ(word(move(tree, "f", "h")), "path_not_found");
  EXPECT_EQ(word(move(tree, "new", "moved")), "ok");
  EXPECT_EQ(get(root / "moved/g"), "x");
  EXPECT_EQ(word(move(tree, "moved/g", "a/b", {.parents = Parents::require})), "path_not_found");
  EXPECT_EQ(word(move(tree, "moved/g", "moved/g")), "ok") << "nothing to do";
  std::filesystem::create_symlink("nowhere", root / "link");
  EXPECT_EQ(word(move(tree, "link", "link2")), "ok");
  EXPECT_TRUE(std::filesystem::is_symlink(root / "link2"));
  EXPECT_EQ(names_in(root), (Names{"link2", "moved"}));
}

TEST_F(ChangeTest, MovesOverSomethingOnlyWhenAsked) {
  put(root / "f", "f");
  put(root / "g", "g");
  std::filesystem::create_directories(root / "empty");
  std::filesystem::create_directories(root / "full/in");
  std::filesystem::create_directories(root / "d");
  EXPECT_EQ(word(move(tree, "f", "g")), "already_exists");
  EXPECT_EQ(get(root / "g"), "g");
  EXPECT_EQ(word(move(tree, "f", "full", replacing())), "is_a_directory");
  EXPECT_EQ(word(move(tree, "d", "f", replacing())), "not_a_directory");
  EXPECT_EQ(word(move(tree, "d", "full", replacing())), "directory_not_empty");
  EXPECT_EQ(word(move(tree, "d", "empty")), "already_exists");
  EXPECT_EQ(word(move(tree, "d", "empty", replacing())), "ok");
  EXPECT_FALSE(move(tree, "f", "g", replacing())->created);
  EXPECT_EQ(get(root / "g"), "f");
  EXPECT_EQ(word(move(tree, "g", "h/")), "not_a_directory");
  EXPECT_EQ(names_in(root), (Names{"empty", "full", "g"}));
}

TEST_F(ChangeTest, MovesOneNameOfAFileOverAnother) {
  put(root / "f", "x");
  std::filesystem::create_hard_link(root / "f", root / "g");
  EXPECT_EQ(word(move(tree, "f", "g", replacing())), "ok");
  EXPECT_EQ(names_in(root), Names{"g"});
}

TEST_F(ChangeTest, RefusesToMoveOrCopyADirectoryIntoItself) {
  std::filesystem::create_directories(root / "a/b");
  EXPECT_EQ(word(move(tree, "a", "a/b/c")), "invalid_field");
  EXPECT_EQ(word(copy(tree, "a", "a/b/c")), "invalid_field");
  EXPECT_EQ(names_in(root / "a/b"), Names{});
}

TEST_F(ChangeTest, MovesAndCopiesNothingInOrOutOfTheRoots) {
  put(root / "f", "x");
  std::filesystem::create_directory_symlink(outside, root / "out");
  for (const auto& [from, to] : {std::pair{"out/secret", "here"}, std::pair{"f", "out/f"}, std::pair{"f", "../f"},
                                 std::pair{"../outside/secret", "here"}, std::pair{"f", "../outside/secret"}}) {
    EXPECT_EQ(word(move(tree, from, to, replacing())), "path_escapes_root") << from << " " << to;
    EXPECT_EQ(word(copy(tree, from, to, replacing())), "path_escapes_root") << from << " " << to;
  }
  EXPECT_EQ(word(move(tree, book, "here")), "permission_denied");
  EXPECT_EQ(word(move(tree, "f", (library / "f").string())), "permission_denied");
  EXPECT_EQ(word(copy(tree, "f", (library / "f").string())), "permission_denied");
  EXPECT_EQ(word(copy(tree, book, "here")), "ok") << "what may only be read may be copied";
  EXPECT_EQ(word(copy(tree, library.string(), "shelf")), "ok") << "also a whole root";
  EXPECT_EQ(get(root / "shelf/book"), "words");
  EXPECT_EQ(names_in(outside), Names{"secret"});
}

TEST_F(ChangeTest, Copies) {
  std::filesystem::create_directories(root / "a/b");
  put(root / "a/b/f", "x");
  put(root / "g", "g");
  std::filesystem::create_symlink("a", root / "link");
  EXPECT_TRUE(copy(tree, "a", "new/copy")->created);
  EXPECT_EQ(get(root / "new/copy/b/f"), "x");
  EXPECT_EQ(word(copy(tree, "link", "link2")), "ok");
  EXPECT_EQ(std::filesystem::read_symlink(root / "link2"), "a");
  EXPECT_EQ(word(copy(tree, "a/b/f", "g")), "already_exists");
  EXPECT_EQ(get(root / "g"), "g");
  EXPECT_FALSE(copy(tree, "a/b/f", "g", replacing())->created);
  EXPECT_EQ(get(root / "g"), "x");
  EXPECT_EQ(word(copy(tree, "g", "g", replacing())), "ok");
  EXPECT_EQ(get(root / "g"), "x");
  EXPECT_EQ(word(copy(tree, "a", "new", replacing())), "directory_not_empty");
  EXPECT_EQ(names_in(root), (Names{"a", "g", "link", "link2", "new"})) << "no temporary name is left";
}

TEST_F(ChangeTest, LeavesNothingOfACopyThatFails) {
  std::filesystem::create_directories(root / "a/b");
  put(root / "a/f", "x");
  std::filesystem::path deep = root / "a/b";
  for (int i = 0; i < 200; ++i) deep /= "d";
  std::filesystem::create_directories(deep);
  EXPECT_EQ(word(copy(tree, "a", "z")), "name_too_long");
  EXPECT_EQ(names_in(root), Names{"a"});
}

TEST_F(ChangeTest, MovesAndCopiesOnlyUnderTheirConditions) {
  put(root / "f", "x");
  const Transfer stale{.conditions = if_match("\"h-00\"")};
  EXPECT_EQ(word(move(tree, "f", "g", stale)), "precondition_failed");
  EXPECT_EQ(word(copy(tree, "f", "g", stale)), "precondition_failed");
  EXPECT_EQ(word(copy(tree, "f", "g", {.conditions = if_match(tag("f"))})), "ok");
  EXPECT_EQ(word(move(tree, "f", "h", {.conditions = if_match(tag("f"))})), "ok");
}

TEST_F(ChangeTest, MovesToAnotherFileSystem) {
  constexpr int kNoMounts = 77;
  const std::string disk = root / "disk";
  std::filesystem::create_directory(disk);
  const int status = test::status_in_child([&] {
    if (!test::mount_tmpfs(disk)) return kNoMounts;
    const Tree two = Tree::open({.path = root}, {{.path = disk}}).value();
    std::filesystem::create_directories(root / "a/b");
    put(root / "a/b/f", "content");
    EXPECT_EQ(::chmod((root / "a/b/f").c_str(), 0751), 0);
    const Entry before = look_at(two, "a/b/f")->entry;
    EXPECT_EQ(word(move(two, "a", disk + "/a")), "ok");
    EXPECT_FALSE(std::filesystem::exists(root / "a"));
    const Entry after = look_at(two, disk + "/a/b/f")->entry;
    EXPECT_EQ(get(disk + "/a/b/f"), "content");
    EXPECT_EQ(after.mode, 0751U);
    EXPECT_EQ(after.modified, before.modified);
    put(root / "f", "new");
    EXPECT_EQ(word(move(two, "f", disk + "/a/b/f")), "already_exists");
    EXPECT_EQ(get(disk + "/a/b/f"), "content");
    EXPECT_EQ(word(move(two, "f", disk + "/a/b/f", replacing())), "ok");
    EXPECT_EQ(get(disk + "/a/b/f"), "new");
    EXPECT_EQ(::mkfifo((root / "fifo").c_str(), 0600), 0);
    EXPECT_EQ(word(move(two, "fifo", disk + "/fifo")), "not_a_regular_file");
    EXPECT_TRUE(std::filesystem::exists(root / "fifo"));
    EXPECT_EQ(names_in(disk), Names{"a"});
    return HasFailure() ? 1 : 0;
  });
  if (status == kNoMounts) GTEST_SKIP() << "nothing can be mounted here";
  EXPECT_EQ(status, 0);
}

TEST_F(ChangeTest, MovesToANewNameForExactlyOneOfMany) {
  for (int i = 0; i < 8; ++i) put(root / std::to_string(i), std::to_string(i));
  std::atomic<int> moved = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] { moved += move(tree, std::to_string(i), "target") ? 1 : 0; });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(moved, 1);
  EXPECT_EQ(names_in(root).size(), 8U);
}

}  // namespace
}  // namespace skiff::fs
