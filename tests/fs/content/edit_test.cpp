#include "fs/content/edit.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "fs/content/read.hpp"
#include "tests/support/files_test.hpp"

namespace skiff::fs {
namespace {

using test::get;
using test::Names;
using test::names_in;
using test::put;
using test::word;

class EditTest : public test::Files {
 public:
  Tree tree = open_tree();

  Result<Edited> edit(std::string_view path, std::vector<Edit> edits, const EditOptions& options = {}) const {
    return fs::edit(tree, path, edits, options);
  }
};

TEST_F(EditTest, ChangesAFileAndShowsHow) {
  put(root / "f", "one\ntwo\nthree\n");
  ASSERT_EQ(::chmod((root / "f").c_str(), 0741), 0);
  const auto edited = edit("f", {{.old = "two", .replacement = "2"}});
  ASSERT_TRUE(edited) << edited.error().message;
  EXPECT_EQ(get(root / "f"), "one\n2\nthree\n");
  EXPECT_EQ(edited->diff, "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n");
  EXPECT_FALSE(edited->diff_cut);
  EXPECT_EQ(edited->written.entry.mode, 0741U);
  EXPECT_EQ(edited->written.entry.size, 12U);
  EXPECT_EQ(names_in(root), Names{"f"});
}

TEST_F(EditTest, ChangesAllOrNothing) {
  put(root / "f", "one two");
  EXPECT_EQ(word(edit("f", {{.old = "one", .replacement = "1"}, {.old = "none", .replacement = "x"}})),
            "edit_not_found");
  EXPECT_EQ(get(root / "f"), "one two");
  EXPECT_EQ(names_in(root), Names{"f"});
}

TEST_F(EditTest, EditsThroughALinkAndNothingOutside) {
  put(root / "f", "a");
  std::filesystem::create_symlink("f", root / "link");
  std::filesystem::create_symlink(outside / "secret", root / "out");
  EXPECT_EQ(word(edit("link", {{.old = "a", .replacement = "b"}})), "ok");
  EXPECT_TRUE(std::filesystem::is_symlink(root / "link"));
  EXPECT_EQ(get(root / "f"), "b");
  EXPECT_EQ(word(edit("out", {{.old = "s", .replacement = "b"}})), "path_escapes_root");
  EXPECT_EQ(word(edit("none", {{.old = "a", .replacement = "b"}})), "path_not_found");
  EXPECT_EQ(word(edit("none/f", {{.old = "a", .replacement = "b"}})), "path_not_found");
  EXPECT_FALSE(std::filesystem::exists(root / "none"));
  EXPECT_EQ(word(edit(".", {{.old = "a", .replacement = "b"}})), "invalid_field");
  EXPECT_EQ(word(edit((library / "book").string(), {{.old = "w", .replacement = "b"}})), "permission_denied");
}

TEST_F(EditTest, RefusesAFileThatIsTooLarge) {
  put(root / "f", "a");
  ASSERT_EQ(::truncate((root / "f").c_str(), (64 << 20) + 1), 0);
  EXPECT_EQ(word(edit("f", {{.old = "a", .replacement = "b"}})), "payload_too_large");
}

TEST_F(EditTest, HonoursConditions) {
  put(root / "f", "a");
  const EditOptions stale{.conditions = {.if_match = TagList::parse("\"h-00\"").value()}};
  EXPECT_EQ(word(edit("f", {{.old = "a", .replacement = "b"}}, stale)), "precondition_failed");
  const std::string tag = "\"h-" + to_hex(Sha256::of("a")) + '"';
  const EditOptions right{.conditions = {.if_match = TagList::parse(tag).value()}};
  EXPECT_EQ(word(edit("f", {{.old = "a", .replacement = "b"}}, right)), "ok");
}

TEST_F(EditTest, LosesNoEditOfMany) {
  put(root / "f", "begin\n");
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 20; ++round) {
        const std::string line = "begin\n" + std::to_string(i) + " " + std::to_string(round) + "\n";
        EXPECT_EQ(word(edit("f", {{.old = "begin\n", .replacement = line}})), "ok");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::string text = get(root / "f");
  EXPECT_EQ(std::ranges::count(text, '\n'), 161);
}

TEST_F(EditTest, MakesADiffThatPatchApplies) {
  if (std::system("patch --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "there is no patch(1)";
  std::string text;
  for (int i = 0; i < 200; ++i) text += "line " + std::to_string(i) + "\n";
  text += "no end";
  put(root / "f", text);
  put(root / "before", text);
  const auto edited = edit("f", {{.old = "line 7\n", .replacement = "line seven\nand more\n"},
                                 {.old = "line 100\nline 101\n", .replacement = ""},
                                 {.old = "line 0\n", .replacement = "first\nline 0\n"},
                                 {.old = "no end", .replacement = "an end\n"}});
  ASSERT_TRUE(edited) << edited.error().message;
  put(root / "diff", edited->diff);
  const std::string command = "cd '" + root.string() + "' && patch -s before diff";
  EXPECT_EQ(std::system(command.c_str()), 0);
  EXPECT_EQ(get(root / "before"), get(root / "f"));
}

}  // namespace
}  // namespace skiff::fs
