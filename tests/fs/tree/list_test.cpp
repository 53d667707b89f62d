#include "fs/tree/list.hpp"

#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <random>

#include "tests/support/files_test.hpp"

namespace skiff::fs {
namespace {

using test::put;
using NameList = std::vector<std::string>;

class ListTest : public test::Files {
 public:
  Tree tree = open_tree();

  NameList names(std::string_view path, const ListOptions& options = {}) const {
    const auto page = list(tree, path, options);
    if (!page) return {"error: " + std::string{name(page.error().code)}};
    NameList all;
    for (const Listed& entry : page->entries) all.push_back(entry.path);
    return all;
  }
  /// The entries of all pages of `limit` entries, and the number of pages.
  std::pair<NameList, std::size_t> pages(std::string_view path, ListOptions options) const {
    NameList all;
    for (std::size_t count = 1;; ++count) {
      const Page page = list(tree, path, options).value();
      EXPECT_LE(page.entries.size(), options.limit);
      for (const Listed& entry : page.entries) all.push_back(entry.path);
      if (page.next_cursor.empty()) return {all, count};
      options.cursor = page.next_cursor;
      if (count > 10'000) return {{"never ends"}, count};
    }
  }
  /// Creates some hundred files and directories, with names that sort differently by bytes and by path.
  NameList make_forest() const {
    std::mt19937 random{7};
    std::vector<std::filesystem::path> directories{root};
    NameList made;
    for (int i = 0; i < 400; ++i) {
      const std::filesystem::path in = directories[random() % directories.size()];
      const std::string name = std::string(1, "aB.-_~\xc3"[random() % 7]) + std::to_string(random() % 50);
      if (std::filesystem::exists(in / name)) continue;
      if (random() % 4 == 0) {
        std::filesystem::create_directory(in / name);
        directories.push_back(in / name);
      } else {
        put(in / name, "");
      }
      made.push_back((in / name).lexically_relative(root));
    }
    // Sort by names, not by the bytes of the whole path: a directory's entries follow it.
    const auto by_names = [](std::string path) {
      std::ranges::replace(path, '/', '\0');
      return path;
    };
    std::ranges::sort(made, {}, by_names);
    return made;
  }
};

TEST_F(ListTest, GivesTheEntriesOfADirectoryByBytes) {
  for (const char* name : {"b", "a", "B", ".hidden", "\xff", "new\nline", "a.b"}) put(root / name, "x");
  EXPECT_EQ(names("."), (NameList{".hidden", "B", "a", "a.b", "b", "new\nline", "\xff"}));
  EXPECT_EQ(names((library).string()), NameList{"book"});
  std::filesystem::create_directory(root / "empty");
  EXPECT_EQ(names("empty"), NameList{});
}

TEST_F(ListTest, TellsWhatEachEntryIs) {
  put(root / "file", "12345");
  std::filesystem::create_directory(root / "folder");
  std::filesystem::create_symlink("../outside/secret", root / "link");
  ASSERT_EQ(::mkfifo((root / "pipe").c_str(), 0600), 0);
  const Page page = list(tree, ".").value();
  ASSERT_EQ(page.entries.size(), 4U);
  EXPECT_EQ(page.entries[0].entry.size, 5U);
  EXPECT_EQ(page.entries[1].entry.type, EntryType::directory);
  EXPECT_EQ(page.entries[2].entry.type, EntryType::link);
  EXPECT_EQ(page.entries[2].entry.target, "../outside/secret");
  EXPECT_EQ(page.entries[3].entry.type, EntryType::fifo);
  for (const Listed& entry : page.entries) EXPECT_FALSE(entry.tag.empty()) << entry.path;
  EXPECT_TRUE(list(tree, ".", {.tags = false})->entries[0].tag.empty());
}

TEST_F(ListTest, RefusesAFile) {
  put(root / "f", "x");
  std::filesystem::create_directory_symlink("../outside", root / "out");
  EXPECT_EQ(names("f"), NameList{"error: not_a_directory"});
  EXPECT_EQ(names("none"), NameList{"error: path_not_found"});
  EXPECT_EQ(names("out"), NameList{"error: path_escapes_root"});
  EXPECT_EQ(names(".."), NameList{"error: path_escapes_root"});
}

TEST_F(ListTest, FollowsNoLinkBelow) {
  std::filesystem::create_directories(root / "a/b");
  std::filesystem::create_directory_symlink("..", root / "a/b/up");
  std::filesystem::create_directory_symlink(outside, root / "a/out");
  std::filesystem::create_directory_symlink("a", root / "link");
  EXPECT_EQ(names(".", {.depth = Depth::all}), (NameList{"a", "a/b", "a/b/up", "a/out", "link"}));
  EXPECT_EQ(names("link", {.depth = Depth::all}), (NameList{"b", "b/up", "out"}))
      << "only at the end of the path itself";
}

TEST_F(ListTest, GoesThroughAllDirectoriesInOrder) {
  const NameList all = make_forest();
  EXPECT_EQ(names(".", {.depth = Depth::all}), all);
}

TEST_F(ListTest, GivesThePagesOfATreeWithoutAGapOrARepeat) {
  const NameList all = make_forest();
  for (const std::size_t limit : {1U, 2U, 3U, 7U, 50U, 1000U}) {
    const auto [found, count] = pages(".", {.depth = Depth::all, .limit = limit});
    EXPECT_EQ(found, all) << limit;
    EXPECT_EQ(count, (all.size() + limit - 1) / limit) << "no empty page at the end either";
  }
}

TEST_F(ListTest, GivesThePagesOfALargeDirectory) {
  NameList all;
  for (int i = 0; i < 3'000; ++i) all.push_back("f" + std::to_string(i));
  for (const std::string& name : all) put(root / name, "");
  std::ranges::sort(all);
  for (const std::size_t limit : {100U, 1000U, 2999U, 3000U, 5000U}) {
    EXPECT_EQ(pages(".", {.limit = limit}).first, all) << limit;
    EXPECT_EQ(pages(".", {.depth = Depth::all, .limit = limit}).first, all) << limit;
  }
}

TEST_F(ListTest, GivesOnlyWhatIsWantedAlsoAcrossPages) {
  const NameList all = make_forest();
  const auto wanted = [](std::string_view path) { return path.ends_with('7'); };
  NameList some;
  std::ranges::copy_if(all, std::back_inserter(some), wanted);
  ASSERT_GT(some.size(), 10U);
  EXPECT_EQ(names(".", {.depth = Depth::all, .wanted = wanted}), some);
  for (const std::size_t limit : {1U, 4U}) {
    EXPECT_EQ(pages(".", {.depth = Depth::all, .limit = limit, .wanted = wanted}).first, some) << limit;
  }
  EXPECT_EQ(names(".", {.depth = Depth::all, .wanted = [](std::string_view) { return false; }}), NameList{});
}

TEST_F(ListTest, GoesOnAfterANameThatIsGone) {
  for (const char* name : {"a", "b", "c", "d"}) put(root / name, "");
  const Page first = list(tree, ".", {.limit = 2}).value();
  std::filesystem::remove(root / "b");
  put(root / "aa", "");
  put(root / "bb", "");
  EXPECT_EQ(names(".", {.cursor = first.next_cursor}), (NameList{"bb", "c", "d"}));
  std::filesystem::create_directories(root / "x/y/z");
  EXPECT_EQ(names("x", {.depth = Depth::all, .cursor = "y/gone/deep"}), NameList{"y/z"});
  EXPECT_EQ(names("x", {.depth = Depth::all, .cursor = "a/b"}), (NameList{"y", "y/z"}));
  EXPECT_EQ(names("x", {.depth = Depth::all, .cursor = "z"}), NameList{});
}

TEST_F(ListTest, StopsWhenRequested) {
  std::stop_source source;
  source.request_stop();
  EXPECT_EQ(list(tree, ".", {.stop = source.get_token()}).error().code, Errc::cancelled);
}

TEST_F(ListTest, StopsAtADepthAndSaysSo) {
  std::filesystem::path deep = root;
  for (int i = 0; i < 300; ++i) deep /= "d";
  std::filesystem::create_directories(deep);
  const Page page = list(tree, ".", {.depth = Depth::all}).value();
  EXPECT_TRUE(page.too_deep);
  EXPECT_EQ(page.entries.size(), 256U);
  EXPECT_TRUE(page.next_cursor.empty());
  EXPECT_FALSE(list(tree, ".")->too_deep);
}

TEST_F(ListTest, ListsAnUnreadableDirectory) {
  std::filesystem::create_directories(root / "closed/in");
  ASSERT_EQ(::chmod((root / "closed").c_str(), 0), 0);
  ASSERT_EQ(::chmod(root.c_str(), 0755), 0);
  // Root may read everything, so this thread acts as another user (setfsuid(2)).
  ::setfsuid(12345);
  EXPECT_EQ(names(".", {.depth = Depth::all}), NameList{"closed"});
  ::setfsuid(::geteuid());
  ::chmod((root / "closed").c_str(), 0700);
}

}  // namespace
}  // namespace skiff::fs
