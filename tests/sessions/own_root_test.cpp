#include "sessions/own_root.hpp"

#include <filesystem>

#include "tests/support/files_test.hpp"

namespace skiff::sessions {
namespace {

namespace stdfs = std::filesystem;
using test::word;

class OwnRootTest : public test::Files {
 public:
  const std::string ground = root.string();
};

TEST_F(OwnRootTest, IsMadeWithItsParentsAndTakenAgain) {
  EXPECT_EQ(make_own_root(ground, "a/b").value(), ground + "/a/b");
  EXPECT_EQ(make_own_root(ground, "a/b").value(), ground + "/a/b");
  EXPECT_TRUE(open_own_root(ground, ground + "/a/b", {}));
}

TEST_F(OwnRootTest, IsNotMadeThroughALinkThatLeavesTheAgents) {
  stdfs::create_symlink(outside, root / "l");
  EXPECT_EQ(word(make_own_root(ground, "l/new")), "path_escapes_root");
  EXPECT_EQ(word(make_own_root(ground, "l")), "path_escapes_root");
  EXPECT_FALSE(stdfs::exists(outside / "new"));
}

TEST_F(OwnRootTest, HasNoLinksInItsPath) {
  stdfs::create_directory(root / "real");
  stdfs::create_symlink("real", root / "l");
  EXPECT_EQ(make_own_root(ground, "l/new").value(), ground + "/real/new");
}

TEST_F(OwnRootTest, IsNotOpenedWhenALinkTookItsPlace) {
  const std::string own = make_own_root(ground, "a/b").value();
  stdfs::remove(root / "a" / "b");
  stdfs::create_symlink(outside, root / "a" / "b");
  EXPECT_EQ(word(open_own_root(ground, own, {})), "path_escapes_root");
}

TEST_F(OwnRootTest, IsRemovedWithWhatIsInIt) {
  const std::string own = make_own_root(ground, "a/b").value();
  test::put(root / "a" / "b" / "f", "x");
  EXPECT_TRUE(remove_own_root(ground, own));
  EXPECT_FALSE(stdfs::exists(root / "a" / "b"));
  EXPECT_TRUE(remove_own_root(ground, own)) << "what is gone is no error";
}

TEST_F(OwnRootTest, IsRemovedAsTheLinkThatTookItsPlace) {
  const std::string own = make_own_root(ground, "a/b").value();
  stdfs::remove(root / "a" / "b");
  stdfs::create_symlink(outside, root / "a" / "b");
  EXPECT_TRUE(remove_own_root(ground, own));
  EXPECT_TRUE(stdfs::exists(outside / "secret"));
}

TEST_F(OwnRootTest, IsNotRemovedBehindALinkThatTookItsParentsPlace) {
  const std::string own = make_own_root(ground, "a/b").value();
  stdfs::create_directories(root / "other" / "b");
  stdfs::rename(root / "a", root / "was");
  stdfs::create_symlink("other", root / "a");
  EXPECT_EQ(word(remove_own_root(ground, own)), "path_escapes_root");
  EXPECT_TRUE(stdfs::exists(root / "other" / "b"));
}

}  // namespace
}  // namespace skiff::sessions
