#include "container/changes/workspace.hpp"

#include "tests/container/changes/layered.hpp"

namespace skiff::container::changes {
namespace {

class WorkspaceTest : public Layered {};

TEST_F(WorkspaceTest, AnotherDirectoryInItsPlaceIsRefused) {
  const MountedLayer was = mount();
  std::filesystem::rename(under, top.path() / "away");
  EXPECT_EQ(test::word(Workspace::open(was)), "path_not_found");
  std::filesystem::create_directory_symlink(top.path() / "away", under);
  EXPECT_EQ(test::word(Workspace::open(was)), "sandbox_conflict");
  std::filesystem::remove(under);
  std::filesystem::create_directory(under);
  EXPECT_EQ(test::word(Workspace::open(was)), "sandbox_conflict");
}

TEST_F(WorkspaceTest, ALinkInThePlaceOfTheLayerIsRefused) {
  const MountedLayer was = mount();
  std::filesystem::rename(layer, top.path() / "away");
  std::filesystem::create_directory_symlink(outside, layer);
  EXPECT_NE(test::word(Workspace::open(was)), "ok");
}

TEST_F(WorkspaceTest, OneCallerHoldsTheLock) {
  const Workspace all = workspace();
  {
    const auto held = all.lock();
    ASSERT_TRUE(held);
    EXPECT_EQ(test::word(workspace().lock()), "sandbox_conflict");
  }
  EXPECT_EQ(test::word(workspace().lock()), "ok");
}

}  // namespace
}  // namespace skiff::container::changes
