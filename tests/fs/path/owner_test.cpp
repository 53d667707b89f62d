#include "fs/path/owner.hpp"

#include <fcntl.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <utility>

#include "tests/support/files_test.hpp"
#include "tests/support/in_child.hpp"

namespace skiff::fs {
namespace {

class OwnerTest : public test::Files {
 public:
  UniqueFd directory{::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};

  struct stat look(const std::string& name) const {
    struct stat status{};
    EXPECT_EQ(::fstatat(directory.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW), 0);
    return status;
  }
};

TEST_F(OwnerTest, CreatesFilesForAnotherUserAndThenItsOwn) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  // It also works where that user may create nothing.
  ASSERT_EQ(::chmod(root.c_str(), 0700), 0);
  {
    auto made = MadeFor::begin(12345, 23456, "d");
    ASSERT_TRUE(made);
    const MadeFor moved{std::move(*made)};
    ASSERT_EQ(::mkdirat(directory.get(), "d", 0750), 0);
  }
  ASSERT_EQ(::mkdirat(directory.get(), "own", 0755), 0);
  EXPECT_EQ(look("d").st_uid, 12345U);
  EXPECT_EQ(look("d").st_gid, 23456U);
  EXPECT_EQ(look("own").st_uid, 0U);
  EXPECT_EQ(look("own").st_gid, ::getegid());
  // The agent uses its own rights again.
  ASSERT_EQ(::chmod((root / "d").c_str(), 0), 0);
  EXPECT_EQ(::mkdirat(directory.get(), "d/inside", 0755), 0);
}

TEST_F(OwnerTest, RefusesAnotherUserWithoutPrivilege) {
  if (::geteuid() == 0) {
    test::expect_without([] { EXPECT_EQ(test::word(MadeFor::begin(1, 1, "d")), "permission_denied"); }, SYS_capset,
                         EPERM);
  } else {
    EXPECT_EQ(test::word(MadeFor::begin(::geteuid() + 1, 1, "d")), "permission_denied");
  }
  EXPECT_EQ(::setfsuid(static_cast<uid_t>(-1)), static_cast<int>(::geteuid()));
}

TEST_F(OwnerTest, ActsWithTheRightsOfAnotherUserAndThenItsOwnAgain) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  ASSERT_EQ(::chmod(root.c_str(), 0755), 0);
  std::filesystem::create_directory(root / "own");
  std::filesystem::create_directory(root / "shared");
  ASSERT_EQ(::chown((root / "shared").c_str(), 0, 34567), 0);
  ASSERT_EQ(::chmod((root / "shared").c_str(), 0770), 0);
  const Asker asker{.uid = 12345, .gid = 23456, .groups = {34567}};
  {
    auto begun = ActingAs::begin(asker, "d");
    ASSERT_TRUE(begun);
    const ActingAs acting{std::move(*begun)};
    EXPECT_EQ(::mkdirat(directory.get(), "own/d", 0755), -1);
    EXPECT_EQ(errno, EACCES);
    EXPECT_EQ(::mkdirat(directory.get(), "shared/d", 0755), 0);
    EXPECT_EQ(::fchownat(directory.get(), "shared/d", 1, 1, 0), -1);
    // Creating for another user meanwhile gives no more rights.
    for (const auto& [uid, gid] : {std::pair{1U, 1U}, {0U, 0U}, {asker.uid, 0U}}) {
      EXPECT_EQ(test::word(MadeFor::begin(uid, gid, "d")), "permission_denied");
    }
    auto same = MadeFor::begin(asker.uid, asker.gid, "d");
    EXPECT_TRUE(same);
    EXPECT_EQ(::mkdirat(directory.get(), "own/d", 0755), -1);
  }
  EXPECT_EQ(look("shared/d").st_uid, 12345U);
  EXPECT_EQ(look("shared/d").st_gid, 23456U);
  EXPECT_EQ(::fchownat(directory.get(), "shared/d", 1, 1, 0), 0);
  ASSERT_EQ(::chmod((root / "own").c_str(), 0), 0);
  EXPECT_EQ(::mkdirat(directory.get(), "own/d", 0755), 0);
  EXPECT_EQ(look("own/d").st_uid, 0U);
}

TEST_F(OwnerTest, RefusesToActAsAnotherUserWithoutPrivilege) {
  EXPECT_EQ(test::word(ActingAs::begin({.uid = ::geteuid(), .gid = 1}, "d")), "permission_denied");
  if (::geteuid() == 0) {
    for (const long call : {SYS_capset, SYS_setgroups}) {
      test::expect_without(
          [] { EXPECT_EQ(test::word(ActingAs::begin({.uid = 1, .gid = 1}, "d")), "permission_denied"); }, call, EPERM);
    }
  }
  EXPECT_EQ(::setfsuid(static_cast<uid_t>(-1)), static_cast<int>(::geteuid()));
}

TEST_F(OwnerTest, GivesTheDirectoryThatItHasMade) {
  const UniqueFd made = create_private_directory(directory.get(), "d");
  ASSERT_TRUE(made);
  struct stat status{};
  ASSERT_EQ(::fstat(made.get(), &status), 0);
  EXPECT_EQ(status.st_ino, look("d").st_ino);
  EXPECT_EQ(status.st_mode & 0777U, 0700U);
  EXPECT_FALSE(create_private_directory(directory.get(), "d"));
  EXPECT_EQ(errno, EEXIST);
}

TEST_F(OwnerTest, SetsTimesOfItsOwnLinksOnly) {
  const std::array<timespec, 2> times{timespec{.tv_sec = 1, .tv_nsec = 2}, timespec{.tv_sec = 1'000, .tv_nsec = 5}};
  std::filesystem::create_symlink("target", root / "link");
  set_link_times(directory.get(), "link", times);
  EXPECT_EQ(look("link").st_mtim.tv_sec, 1'000);
  EXPECT_EQ(look("link").st_mtim.tv_nsec, 5);
  test::put(root / "file", "x");
  set_link_times(directory.get(), "file", times);
  EXPECT_NE(look("file").st_mtim.tv_sec, 1'000);
  set_link_times(directory.get(), "gone", times);
  if (::geteuid() != 0) return;
  ASSERT_EQ(::lchown((root / "link").c_str(), 1, 1), 0);
  set_link_times(directory.get(), "link", std::array<timespec, 2>{});
  EXPECT_EQ(look("link").st_mtim.tv_sec, 1'000);
}

}  // namespace
}  // namespace skiff::fs
