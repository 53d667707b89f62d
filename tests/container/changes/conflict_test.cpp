#include "container/changes/conflict.hpp"

#include "tests/container/changes/layered.hpp"

namespace skiff::container::changes {
namespace {

class ConflictTest : public Layered {};

TEST_F(ConflictTest, WhatIsAsItWasHasNone) {
  write(under / "a", "x");
  write(under / "d/x", "x");
  begin();
  whiteout("a");
  whiteout("d");
  const Workspace all = workspace();
  for (const Change& change : find().changes) EXPECT_FALSE(find_conflict(all, change)) << change.path;
  EXPECT_FALSE(find_conflict(all, {.path = "new", .kind = Kind::added, .mode = S_IFREG}));
}

TEST_F(ConflictTest, NamesTheFileInADirectoryThatWouldGo) {
  write(under / "d/inner/a", "x");
  begin();
  test::put(under / "d/inner/a", "mine");
  whiteout("d");
  const auto conflict = find_conflict(workspace(), find().changes.at(0));
  ASSERT_TRUE(conflict);
  EXPECT_EQ(conflict->path, "d");
  EXPECT_TRUE(conflict->detail.starts_with("\"d/inner/a\": it has changed here"));
  EXPECT_EQ(conflict->why, Why::conflict);
}

TEST_F(ConflictTest, APathThroughALinkIsAFailure) {
  std::filesystem::create_symlink(outside, under / "link");
  begin();
  const auto conflict = find_conflict(workspace(), {.path = "link/secret", .kind = Kind::deleted, .old_mode = S_IFREG});
  ASSERT_TRUE(conflict);
  EXPECT_EQ(conflict->why, Why::failed);
}

}  // namespace
}  // namespace skiff::container::changes
