#include "fs/content/kept_attributes.hpp"

#include <fcntl.h>
#include <grp.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "fs/content/write.hpp"
#include "tests/support/files_test.hpp"
#include "tests/support/in_child.hpp"

namespace skiff::fs {
namespace {

using test::put;
using test::word;

class KeptAttributesTest : public test::Files {
 public:
  Tree tree = open_tree();
  Location location = tree.locate("old", Links::keep).value();
  UniqueFd made{::open((root / "new").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)};

  bool has_attribute(const char* name) const { return ::fgetxattr(made.get(), name, nullptr, 0) >= 0; }
  Entry old() const { return entry_at(location.parent.get(), "old").value(); }
};

TEST_F(KeptAttributesTest, IncludeThoseOfUsers) {
  put(root / "old", "x");
  if (::setxattr((root / "old").c_str(), "user.note", "v", 1, 0) != 0) GTEST_SKIP() << "no attributes here";
  ASSERT_EQ(::setxattr((root / "old").c_str(), "user.e2b.note", "v", 1, 0), 0);
  ASSERT_EQ(::setxattr((root / "old").c_str(), "user.empty", "", 0, 0), 0);
  const auto list = keep_attributes(location, old(), made.get(), {.list = true, .not_kept = "user.e2b."});
  ASSERT_TRUE(list) << list.error().message;
  EXPECT_FALSE(list->had);
  EXPECT_TRUE(has_attribute("user.note"));
  EXPECT_TRUE(has_attribute("user.empty"));
  EXPECT_FALSE(has_attribute("user.e2b.note"));
}

TEST_F(KeptAttributesTest, ExcludeThoseOfAnotherFile) {
  put(root / "old", "x");
  const Entry was = old();
  put(root / "other", "y");
  ASSERT_EQ(::rename((root / "other").c_str(), (root / "old").c_str()), 0);
  EXPECT_EQ(word(keep_attributes(location, was, made.get())), "precondition_failed");
  ASSERT_EQ(::unlink((root / "old").c_str()), 0);
  EXPECT_EQ(word(keep_attributes(location, was, made.get())), "ok") << "a removed file has nothing to keep";
}

TEST_F(KeptAttributesTest, AnotherGroupGetsNoMoreThanEverybody) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  ASSERT_EQ(::chmod(root.c_str(), 0777), 0);
  constexpr uid_t kOther = 12345;
  for (const auto& [had, has] : {std::pair{0660, 0600}, {0664, 0644}, {0646, 0646}, {0666, 0666}, {0670, 0600}}) {
    put(root / "f", "x");
    ASSERT_EQ(::chmod((root / "f").c_str(), static_cast<mode_t>(had)), 0);
    const int status = test::status_in_child([&] {
      if (::setgroups(0, nullptr) != 0 || ::setresgid(kOther, kOther, kOther) != 0 ||
          ::setresuid(kOther, kOther, kOther) != 0) {
        return 1;
      }
      return write_file(tree, "f", "new") ? 0 : 2;
    });
    EXPECT_EQ(status, 0);
    const Entry now = entry_at(location.parent.get(), "f").value();
    EXPECT_EQ(now.mode, static_cast<mode_t>(has)) << std::oct << had;
    EXPECT_EQ(now.gid, kOther);
    ASSERT_EQ(::unlink((root / "f").c_str()), 0);
  }
}

}  // namespace
}  // namespace skiff::fs
