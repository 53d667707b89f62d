#include "sessions/process/cgroup_directory.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "tests/support/fake_root.hpp"

namespace skiff::sessions {
namespace {

using test::FakeRoot;

TEST(CgroupDirectory, PrefersVersion1IfItHasTheController) {
  const FakeRoot root;
  root.write("proc/self/cgroup", "5:pids:/a\n0::/b\n");
  root.write("proc/self/mountinfo",
             "30 25 0:26 / /sys/fs/cgroup/unified ro - cgroup2 cgroup rw\n"
             "33 25 0:29 / /sys/fs/cgroup/pids ro - cgroup cgroup rw,pids\n");
  root.write("sys/fs/cgroup/pids/a/pids.current", "1");
  root.write("sys/fs/cgroup/unified/b/cpu.stat", "");
  const auto pids = find_cgroup(root.path, {"pids", "pids.current", "pids.current"});
  ASSERT_TRUE(pids);
  EXPECT_FALSE(pids->version2);
  EXPECT_EQ(pids->group, root.path / "sys/fs/cgroup/pids/a");
  const auto cpu = find_cgroup(root.path, {"cpuacct", "cpuacct.usage", "cpu.stat"});
  ASSERT_TRUE(cpu);
  EXPECT_TRUE(cpu->version2);
  EXPECT_FALSE(find_cgroup(root.path, {"memory", "memory.usage_in_bytes", "memory.current"}));
}

TEST(CgroupDirectory, LevelsGoUpToTheMount) {
  const CgroupDirectory directory{.version2 = true, .group = "/sys/fs/cgroup/a/b", .mount = "/sys/fs/cgroup"};
  std::vector<std::string> seen;
  directory.each_level([&](const std::filesystem::path& level) { seen.push_back(level.string()); });
  EXPECT_EQ(seen, (std::vector<std::string>{"/sys/fs/cgroup/a/b", "/sys/fs/cgroup/a", "/sys/fs/cgroup"}));
}

TEST(CgroupDirectory, FindsWritableMounts) {
  const FakeRoot root;
  EXPECT_FALSE(writable_cgroup_mounts(root.path));
  root.write("proc/self/mountinfo",
             "22 1 0:20 / /proc rw,nosuid - proc proc rw\n"
             "30 25 0:26 / /sys/fs/cgroup rw,relatime shared:4 - cgroup2 cgroup rw,nsdelegate\n"
             "31 25 0:27 / /a\\040b\\134 rw - cgroup cgroup rw,freezer\n"
             "32 25 0:28 / /mount/is/ro ro,relatime - cgroup2 cgroup rw\n"
             "33 25 0:29 / /all/are/ro rw - cgroup cgroup ro,pids\n");
  EXPECT_EQ(writable_cgroup_mounts(root.path), (std::vector<std::filesystem::path>{"/sys/fs/cgroup", "/a b\\"}));
}

TEST(CgroupDirectory, ReadsNumbersForNoLimitAsAbsent) {
  const FakeRoot root;
  root.write("max", "max\n");
  root.write("huge", "9223372036854771712\n");
  root.write("some", "42\n");
  root.write("stat", "a 1\nb 2\n");
  EXPECT_FALSE(read_cgroup_number(root.path / "max"));
  EXPECT_FALSE(read_cgroup_number(root.path / "huge"));
  EXPECT_FALSE(read_cgroup_number(root.path / "nope"));
  EXPECT_EQ(read_cgroup_number(root.path / "some"), 42U);
  EXPECT_EQ(read_cgroup_entry(root.path / "stat", "b"), 2U);
  EXPECT_FALSE(read_cgroup_entry(root.path / "stat", "c"));
}

}  // namespace
}  // namespace skiff::sessions
