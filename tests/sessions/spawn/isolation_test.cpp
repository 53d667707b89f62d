#include "sessions/spawn/isolation.hpp"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "tests/support/in_child.hpp"
#include "tests/support/own_mounts.hpp"

namespace skiff::sessions {
namespace {

TEST(Ruleset, IsNullWithoutIsolation) {
  const auto rules = Ruleset::create(Isolation::none, fs::Tree::open({.path = "/usr"}).value());
  ASSERT_TRUE(rules);
  EXPECT_EQ(*rules, nullptr);
}

TEST(Ruleset, IsCreatedForOfferedLevelsOnly) {
  const auto offered = offered_isolation();
  EXPECT_EQ(offered.front(), Isolation::none);
  for (const Isolation level : {Isolation::protect, Isolation::landlock}) {
    const auto rules = Ruleset::create(level, fs::Tree::open({.path = "/usr"}).value());
    if (std::ranges::find(offered, level) != offered.end()) {
      ASSERT_TRUE(rules) << rules.error().message;
      EXPECT_GE((*rules)->fd(), 0);
    } else {
      ASSERT_FALSE(rules);
      EXPECT_EQ(rules.error().code, Errc::isolation_unavailable);
      EXPECT_EQ(rules.error().field, "/isolation");
    }
  }
}

constexpr int kNotHere = 77;

bool opens(const std::filesystem::path& path, int flags) {
  return static_cast<bool>(UniqueFd{::open(path.c_str(), flags | O_CLOEXEC, 0600)});
}

bool refuses(const std::filesystem::path& path, int flags) {
  return !opens(path, flags) && errno == EACCES;
}

bool refuses_to_signal(pid_t pid) {
  return ::kill(pid, 0) != 0 && errno == EPERM;
}

enum class Cgroups : unsigned char { elsewhere, inside };

/// Runs `checks` in a process with the rules, whose roots are `root` and `library`. Returns 0, or the number of the
/// first check that fails. The files that it uses are in no directory that every user may use.
template <class Checks>
int status_under(Isolation level, Checks checks, Cgroups cgroups = Cgroups::elsewhere) {
  if (offered_isolation().size() == 1) return kNotHere;
  return test::status_in_child([&]() -> int {
    const std::filesystem::path top = "/mnt";
    if (!test::mount_tmpfs(top)) return kNotHere;
    for (const char* directory : {"root", "library", "outside"}) {
      std::filesystem::create_directory(top / directory);
      std::ofstream{top / directory / "file"} << "text";
    }
    if (cgroups == Cgroups::inside) {
      std::filesystem::create_directories(top / "root/deep/cgroup");
      std::filesystem::create_directories(top / "root/deep/beside");
      if (::mount("none", (top / "root/deep/cgroup").c_str(), "cgroup2", 0, nullptr) != 0) return kNotHere;
    }
    const auto roots =
        fs::Tree::open({.path = top / "root"}, {{.path = top / "library", .access = fs::Access::read_only}});
    // The rules are about the open directories, whatever has their names now.
    std::filesystem::rename(top / "library", top / "moved");
    std::filesystem::create_symlink("/", top / "library");
    const auto rules = Ruleset::create(level, roots.value());
    std::filesystem::remove(top / "library");
    std::filesystem::rename(top / "moved", top / "library");
    if (!rules || ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
    if (::syscall(446 /* landlock_restrict_self */, (*rules)->fd(), 0) != 0) return -1;
    int number = 1;
    for (const bool holds : checks(top)) {
      if (!holds) return number;
      ++number;
    }
    return 0;
  });
}

TEST(Ruleset, ProtectBlocksSignalsButNoFiles) {
  const pid_t parent = ::getpid();
  const int status = status_under(Isolation::protect, [&](const std::filesystem::path& top) {
    return std::array{refuses_to_signal(parent), ::kill(::getpid(), 0) == 0, opens(top / "outside/file", O_RDWR)};
  });
  if (status == kNotHere) GTEST_SKIP() << "no Landlock with scopes, or no mounts here";
  EXPECT_EQ(status, 0);
}

bool is_closed_cgroup(const std::filesystem::path& group) {
  if (!std::filesystem::exists(group / "cgroup.subtree_control")) return true;
  return refuses(group / "cgroup.procs", O_WRONLY) && refuses(group / "cgroup.subtree_control", O_RDWR) &&
         opens(group / "cgroup.procs", O_RDONLY);
}

TEST(Ruleset, ProtectsCgroupsOnly) {
  for (const Isolation level : {Isolation::protect, Isolation::landlock}) {
    const int status = status_under(
        level,
        [&](const std::filesystem::path& top) {
          std::error_code error;
          return std::array{is_closed_cgroup(top / "root/deep/cgroup"), is_closed_cgroup("/sys/fs/cgroup"),
                            is_closed_cgroup("/sys/fs/cgroup/unified"), opens(top / "root/file", O_WRONLY),
                            opens(top / "root/deep/beside/new", O_WRONLY | O_CREAT),
                            ::rename((top / "root/deep/beside/new").c_str(), (top / "root/moved").c_str()) == 0,
                            std::filesystem::create_directories(top / "root/deep/beside/a/b", error),
                            std::filesystem::remove_all(top / "root/deep/beside/a", error) == 2,
                            // A second mount would have no rule.
                            ::mount("none", (top / "root/deep").c_str(), "cgroup2", 0, nullptr) != 0};
        },
        Cgroups::inside);
    if (status == kNotHere) GTEST_SKIP() << "no Landlock with scopes, or no mounts here";
    EXPECT_EQ(status, 0) << name(level);
  }
}

TEST(Ruleset, LandlockKeepsTheCommandBelowItsRoots) {
  const pid_t parent = ::getpid();
  const int status = status_under(Isolation::landlock, [&](const std::filesystem::path& top) {
    return std::array{opens(top / "root/file", O_RDWR),
                      opens(top / "root/new", O_RDWR | O_CREAT),
                      opens(top / "library/file", O_RDONLY),
                      refuses(top / "library/file", O_WRONLY),
                      refuses(top / "library/new", O_WRONLY | O_CREAT),
                      refuses(top / "outside/file", O_RDONLY),
                      refuses(top / "outside/new", O_WRONLY | O_CREAT),
                      opens("/etc/passwd", O_RDONLY),
                      opens("/dev/null", O_WRONLY),
                      refuses("/dev/skiff-test", O_WRONLY | O_CREAT),
                      refuses_to_signal(parent)};
  });
  if (status == kNotHere) GTEST_SKIP() << "no Landlock with scopes, or no mounts here";
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace skiff::sessions
