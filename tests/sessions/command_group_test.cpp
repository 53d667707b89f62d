#include "sessions/command_group.hpp"

#include <unistd.h>

#include <fstream>

#include <gtest/gtest.h>

#include "tests/support/fake_root.hpp"

namespace skiff::sessions {
namespace {

using test::FakeRoot;

std::string text_of(const std::filesystem::path& file) {
  std::ifstream in{file};
  return {std::istreambuf_iterator<char>{in}, {}};
}

// The machines this is built on have the controllers in version 1, so what is written is looked at in a plain folder;
// that a real kernel then enforces it was not seen here.

TEST(CgroupHome, OffersWhatTheFoldersControllersCanDo) {
  const FakeRoot root;
  root.write("home/cgroup.controllers", "cpuset cpu io pids\n");
  const CgroupHome home{(root.path / "home").string()};
  EXPECT_EQ(home.offered(), (std::vector<std::string_view>{"pids", "cpu_millis"}));
  EXPECT_TRUE(home.check({.pids = 5}));
  const auto refused = home.check({.memory_bytes = 1 << 20, .pids = 5});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::limit_unavailable);
  EXPECT_EQ(refused.error().field, "/limits/memory_bytes");
}

TEST(CgroupHome, MakesALeafWithTheLimitsOfTheCommand) {
  const FakeRoot root;
  root.write("home/cgroup.controllers", "memory pids cpu");
  const CgroupHome home{(root.path / "home").string()};
  auto group = home.make("c-1", {.memory_bytes = 64 << 20, .pids = 12, .cpu_millis = 1500});
  ASSERT_TRUE(group) << group.error().message;
  const auto leaf = root.path / "home" / "skiff-c-1";
  EXPECT_EQ(text_of(leaf / "memory.max"), "67108864");
  EXPECT_EQ(text_of(leaf / "memory.oom.group"), "1");
  EXPECT_EQ(text_of(leaf / "pids.max"), "12");
  EXPECT_EQ(text_of(leaf / "cpu.max"), "150000 100000");
  ASSERT_EQ(::write((*group)->processes(), "0", 1), 1);
  EXPECT_EQ(text_of(leaf / "cgroup.procs"), "0");
  EXPECT_FALSE((*group)->out_of_memory());
  root.write("home/skiff-c-1/memory.events", "oom 1\noom_kill 1\n");
  root.write("home/skiff-c-1/memory.peak", "4096\n");
  EXPECT_TRUE((*group)->out_of_memory());
  EXPECT_EQ((*group)->peak_bytes(), 4096U);
}

TEST(CgroupHome, MakesNoLeafForLimitsThatNeedNone) {
  const FakeRoot root;
  root.write("home/cgroup.controllers", "memory pids cpu");
  const CgroupHome home{(root.path / "home").string()};
  const auto group = home.make("c-1", {.open_files = 5});
  ASSERT_TRUE(group);
  EXPECT_EQ(*group, nullptr);
  EXPECT_FALSE(std::filesystem::exists(root.path / "home" / "skiff-c-1"));
}

TEST(CgroupHome, LeavesNothingBehindWhenALeafCanNotBeMade) {
  const FakeRoot root;
  root.write("home/cgroup.controllers", "pids");
  const CgroupHome home{(root.path / "home").string()};
  root.write("home/skiff-taken/file", "");
  EXPECT_FALSE(home.make("taken", {.pids = 3}));
  EXPECT_TRUE(std::filesystem::exists(root.path / "home" / "skiff-taken" / "file"));
}

TEST(CgroupHome, IsNotTakenWhereOthersLiveInTheSameGroup) {
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
