#include "sessions/process/command_group.hpp"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>

#include <gtest/gtest.h>

#include "tests/support/child.hpp"
#include "tests/support/fake_root.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/own_mounts.hpp"

namespace skiff::sessions {
namespace {

using test::FakeRoot;

std::string text_of(const std::filesystem::path& file) {
  std::ifstream in{file};
  return {std::istreambuf_iterator<char>{in}, {}};
}

// With controllers in version 1 no limit can be set in version 2, so these tests check the files in a plain directory.
// tests/integration/test_isolation.py checks that a kernel enforces them.

TEST(CgroupHome, OffersWhatTheDirectoriesControllersCanDo) {
  const FakeRoot root;
  root.write("home/cgroup.controllers", "cpuset cpu io pids\n");
  const CgroupHome home{(root.path / "home").string()};
  EXPECT_EQ(home.offered(), (std::vector<std::string_view>{"pids", "cpu_millis"}));
  EXPECT_TRUE(home.check({.pids = 5}));
  const auto refused = home.check({.memory_bytes = 1 << 20, .pids = 5});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::limit_unavailable);
  EXPECT_EQ(refused.error().field, "/limits/memory_bytes");
  const CgroupHome nowhere{(root.path / "nothing").string()};
  EXPECT_TRUE(
      nowhere.check({.pids = 5}).error().message.ends_with("nothing/cgroup.controllers\": No such file or directory"));
}

TEST(CgroupHome, CreatesALeafWithTheLimitsOfTheCommand) {
  const FakeRoot root;
  root.write("home/cgroup.controllers", "memory pids cpu");
  const CgroupHome home{(root.path / "home").string()};
  auto group = home.make(7, {.memory_bytes = 64 << 20, .pids = 12, .cpu_millis = 1500});
  ASSERT_TRUE(group) << group.error().message;
  const auto leaf = root.path / "home" / "skiff-7";
  EXPECT_EQ(text_of(leaf / "memory.max"), "67108864");
  EXPECT_EQ(text_of(leaf / "memory.oom.group"), "1");
  EXPECT_EQ(text_of(leaf / "pids.max"), "12");
  EXPECT_EQ(text_of(leaf / "cpu.max"), "150000 100000");
  ASSERT_EQ(::write((*group)->processes(), "0", 1), 1);
  EXPECT_EQ(text_of(leaf / "cgroup.procs"), "0");
  EXPECT_FALSE((*group)->out_of_memory());
  root.write("home/skiff-7/memory.events", "oom 1\noom_kill 1\n");
  root.write("home/skiff-7/memory.peak", "4096\n");
  EXPECT_TRUE((*group)->out_of_memory());
  EXPECT_EQ((*group)->peak_bytes(), 4096U);
}

TEST(CgroupHome, CreatesNoLeafForLimitsThatNeedNone) {
  const FakeRoot root;
  root.write("home/cgroup.controllers", "memory pids cpu");
  const CgroupHome home{(root.path / "home").string()};
  const auto group = home.make(7, {.open_files = 5});
  ASSERT_TRUE(group);
  EXPECT_EQ(*group, nullptr);
  EXPECT_FALSE(std::filesystem::exists(root.path / "home" / "skiff-7"));
}

TEST(CgroupHome, LeavesNothingBehindWhenALeafCannotBeCreated) {
  const FakeRoot root;
  root.write("home/cgroup.controllers", "pids");
  const CgroupHome home{(root.path / "home").string()};
  root.write("home/skiff-8/file", "");
  EXPECT_FALSE(home.make(8, {.pids = 3}));
  EXPECT_TRUE(std::filesystem::exists(root.path / "home" / "skiff-8" / "file"));
}

TEST(CommandGroup, KillsAllProcessesOfARealGroupAndIsRemoved) {
  constexpr int kNoGroups = 77;
  const FakeRoot root;
  const int status = test::status_in_child([&] {
    if (!test::own_mounts() || ::mount("none", root.path.c_str(), "cgroup2", 0, nullptr) != 0) return kNoGroups;
    const auto leaf = root.path / ("skiff-test-" + std::to_string(::getpid()));
    if (::mkdir(leaf.c_str(), 0755) != 0) return kNoGroups;
    if (!std::filesystem::exists(leaf / "cgroup.kill")) {
      ::rmdir(leaf.c_str());
      return kNoGroups;
    }
    {
      const CommandGroup group{leaf, UniqueFd{::open((leaf / "cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC)}};
      const pid_t child = ::fork();
      if (child == 0) {
        // A shell forks: in a grandchild of a program under ThreadSanitizer fork may hang.
        if (::write(group.processes(), "0", 1) == 1) ::execl("/bin/sh", "sh", "-c", "sleep 300 & wait", nullptr);
        ::_exit(1);
      }
      const auto lines = [&] { return std::ranges::count(text_of(leaf / "cgroup.procs"), '\n'); };
      const bool both = test::eventually([&] { return lines() == 2; });
      int ended = 0;
      if (!group.kill() || ::waitpid(child, &ended, 0) != child) return 2;
      if (!both) return 1;
      if (!WIFSIGNALED(ended) || WTERMSIG(ended) != SIGKILL) return 3;
      // Init reaps the shell's child.
      if (!test::eventually([&] { return lines() == 0; })) return 4;
    }
    return std::filesystem::exists(leaf) ? 5 : 0;
  });
  if (status == kNoGroups) GTEST_SKIP() << "no cgroup of version 2 can be made here";
  EXPECT_EQ(status, 0);
}

TEST(CgroupHome, RefusesAGroupWithOtherProcesses) {
  const FakeRoot root;
  root.write("proc/self/cgroup", "0::/\n");
  root.write("proc/self/mountinfo", "30 25 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n");
  root.write("sys/fs/cgroup/cgroup.controllers", "memory pids cpu");
  root.write("sys/fs/cgroup/cgroup.procs", "1\n" + std::to_string(::getpid()) + "\n");
  EXPECT_TRUE((CgroupHome{"auto", root.path}.offered().empty()));
  EXPECT_FALSE(std::filesystem::exists(root.path / "sys/fs/cgroup/skiffd"));
  root.write("sys/fs/cgroup/cgroup.procs", std::to_string(::getpid()) + "\n");
  EXPECT_EQ((CgroupHome{"auto", root.path}.offered().size()), 3U);
  EXPECT_EQ(text_of(root.path / "sys/fs/cgroup/skiffd/cgroup.procs"), "0");
  EXPECT_TRUE((CgroupHome{"none", root.path}.offered().empty()));
}

}  // namespace
}  // namespace skiff::sessions
