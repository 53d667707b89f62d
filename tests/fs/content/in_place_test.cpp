#include "fs/content/in_place.hpp"

#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

#include "fs/content/write.hpp"
#include "tests/support/files_test.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/own_mounts.hpp"

namespace skiff::fs {
namespace {

using test::get;
using test::put;
using test::word;

class InPlaceTest : public test::Files {
 public:
  Tree tree = open_tree();
  Location location = tree.locate("f", Links::keep).value();

  UniqueFd bytes(const std::string& text) const {
    put(root / "from", text);
    return UniqueFd{::open((root / "from").c_str(), O_RDONLY | O_CLOEXEC)};
  }
  Entry now() const { return entry_at(location.parent.get(), "f").value(); }
};

TEST_F(InPlaceTest, WritesOverWhatIsThere) {
  put(root / "f", "a long old text");
  for (const std::string& text : {std::string{"new"}, std::string{}, std::string(700'000, 'x'), std::string{"end"}}) {
    const Entry before = now();
    EXPECT_EQ(word(write_in_place(location, bytes(text).get(), before, "f")), "ok");
    EXPECT_EQ(get(root / "f"), text);
    EXPECT_EQ(now().inode, before.inode);
  }
}

TEST_F(InPlaceTest, WritesOverNothingElse) {
  put(root / "f", "old");
  const Entry was = now();
  put(root / "other", "other");
  ASSERT_EQ(::rename((root / "other").c_str(), (root / "f").c_str()), 0);
  EXPECT_EQ(word(write_in_place(location, bytes("new").get(), was, "f")), "precondition_failed");
  EXPECT_EQ(get(root / "f"), "other");
  ASSERT_EQ(::unlink((root / "f").c_str()), 0);
  ASSERT_EQ(::symlink("other", (root / "f").c_str()), 0);
  EXPECT_EQ(word(write_in_place(location, bytes("new").get(), was, "f")), "too_many_links");
}

TEST_F(InPlaceTest, KnowsAMountAndWritesIt) {
  put(root / "f", "old");
  put(root / "mounted", "old");
  EXPECT_FALSE(is_mounted(location));
  constexpr int kNoMounts = 77;
  const int status = test::status_in_child([&] {
    const bool done =
        test::own_mounts() && ::mount((root / "mounted").c_str(), (root / "f").c_str(), nullptr, MS_BIND, nullptr) == 0;
    if (!done) return kNoMounts;
    // Open a tree with this child's mounts.
    auto opened = Tree::open({.path = root.string()});
    if (!opened) return 1;
    if (!is_mounted(opened->locate("f", Links::keep).value())) return 2;
    if (!write_file(*opened, "f", "new")) return 3;
    return get(root / "mounted") == "new" && get(root / "f") == "new" ? 0 : 4;
  });
  if (status == kNoMounts) GTEST_SKIP() << "nothing can be mounted here";
  EXPECT_EQ(status, 0);
  EXPECT_EQ(get(root / "f"), "old");
}

}  // namespace
}  // namespace skiff::fs
