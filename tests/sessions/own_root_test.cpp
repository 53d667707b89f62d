#include "sessions/own_root.hpp"

#include <filesystem>

#include "tests/support/files_test.hpp"

namespace skiff::sessions {
namespace {

namespace stdfs = std::filesystem;
using test::word;

class OwnRootTest : public test::Files {
 public:
  const std::string agent_root = root.string();
  const std::shared_ptr<const fs::Tree> tree =
      std::make_shared<const fs::Tree>(fs::Tree::open({.path = agent_root}).value());

  Result<OwnRoot> make(const std::string& relative) const { return create_own_root(*tree, agent_root, relative); }
  Result<> remove(const std::string& own) const { return remove_own_root(*tree, agent_root, own); }
};

TEST_F(OwnRootTest, CreatesItWithItsParentsAndReusesIt) {
  EXPECT_EQ(make("a/b").value().path, agent_root + "/a/b");
  EXPECT_EQ(make("a/b").value().path, agent_root + "/a/b");
}

TEST_F(OwnRootTest, RefusesALinkThatLeavesTheAgentsRoot) {
  stdfs::create_symlink(outside, root / "l");
  EXPECT_EQ(word(make("l/new")), "path_escapes_root");
  EXPECT_EQ(word(make("l")), "path_escapes_root");
  EXPECT_FALSE(stdfs::exists(outside / "new"));
}

TEST_F(OwnRootTest, HasNoLinksInItsPath) {
  stdfs::create_directory(root / "real");
  stdfs::create_symlink("real", root / "l");
  EXPECT_EQ(make("l/new").value().path, agent_root + "/real/new");
}

TEST_F(OwnRootTest, ReopensARootThatWasCreatedAgain) {
  EXPECT_EQ(living(tree).value(), tree);
  stdfs::remove_all(root);
  EXPECT_EQ(word(living(tree)), "path_not_found");
  stdfs::create_directory(root);
  const auto again = living(tree);
  ASSERT_TRUE(again);
  EXPECT_TRUE((*again)->lives());
  EXPECT_EQ(word(living(nullptr)), "path_not_found");
}

TEST_F(OwnRootTest, RemovesItWithItsContents) {
  const std::string own = make("a/b").value().path;
  test::put(root / "a" / "b" / "f", "x");
  EXPECT_TRUE(remove(own));
  EXPECT_FALSE(stdfs::exists(root / "a" / "b"));
  EXPECT_TRUE(remove(own)) << "what is gone is not an error";
}

TEST_F(OwnRootTest, RemovesALinkThatReplacedIt) {
  const std::string own = make("a/b").value().path;
  stdfs::remove(root / "a" / "b");
  stdfs::create_symlink(outside, root / "a" / "b");
  EXPECT_TRUE(remove(own));
  EXPECT_TRUE(stdfs::exists(outside / "secret"));
}

TEST_F(OwnRootTest, RefusesRemovalBehindALinkThatReplacedItsParent) {
  const std::string own = make("a/b").value().path;
  stdfs::create_directories(root / "other" / "b");
  stdfs::rename(root / "a", root / "was");
  stdfs::create_symlink("other", root / "a");
  EXPECT_EQ(word(remove(own)), "path_escapes_root");
  EXPECT_TRUE(stdfs::exists(root / "other" / "b"));
}

}  // namespace
}  // namespace skiff::sessions
