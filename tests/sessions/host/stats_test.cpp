#include "sessions/host/stats.hpp"

#include <gtest/gtest.h>

#include "tests/support/fake_root.hpp"

namespace skiff::sessions {
namespace {

using test::FakeRoot;

TEST(ContainerStats, AreReadFromVersion2) {
  const FakeRoot root;
  root.write("proc/self/cgroup", "0::/pod/c\n");
  root.write("proc/self/mountinfo", "30 25 0:26 / /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
  const std::string group = "sys/fs/cgroup/pod/c/";
  root.write(group + "cpu.stat", "usage_usec 5000123\nuser_usec 1\nthrottled_usec 77\n");
  root.write(group + "cpu.max", "max 100000\n");
  root.write("sys/fs/cgroup/pod/cpu.max", "150000 100000\n");
  root.write(group + "memory.current", "1000\n");
  root.write(group + "memory.max", "4000\n");
  root.write(group + "memory.stat", "inactive_file 100\n");
  root.write(group + "memory.peak", "3000\n");
  root.write(group + "memory.events", "oom 1\noom_kill 2\n");
  root.write(group + "pids.current", "12\n");
  root.write(group + "pids.max", "max\n");
  const auto stats = read_container_stats(root.path);
  EXPECT_EQ(stats.cgroup_version, 2);
  EXPECT_EQ(stats.cpu.used_us, 5'000'123U);
  EXPECT_EQ(stats.cpu.throttled_us, 77U);
  EXPECT_EQ(stats.cpu.limit_millis, 1500U) << "the limit of a level above holds too";
  EXPECT_GE(stats.cpu.cores, 1U);
  EXPECT_EQ(stats.memory.used_bytes, 900U);
  EXPECT_EQ(stats.memory.limit_bytes, 4000U);
  EXPECT_EQ(stats.memory.peak_bytes, 3000U);
  EXPECT_EQ(stats.memory.oom_kills, 2U);
  EXPECT_EQ(stats.pids.used, 12U);
  EXPECT_FALSE(stats.pids.limit);
}

TEST(ContainerStats, AreReadFromVersion1) {
  const FakeRoot root;
  root.write("proc/self/cgroup", "5:pids:/c\n9:cpu,cpuacct:/c\n4:memory:/c\n");
  root.write("proc/self/mountinfo",
             "31 25 0:27 / /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu,cpuacct\n"
             "32 25 0:28 / /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"
             "33 25 0:29 / /sys/fs/cgroup/pids ro - cgroup cgroup rw,pids\n");
  root.write("sys/fs/cgroup/cpu/c/cpuacct.usage", "7000000\n");
  root.write("sys/fs/cgroup/cpu/c/cpu.cfs_quota_us", "50000\n");
  root.write("sys/fs/cgroup/cpu/c/cpu.cfs_period_us", "100000\n");
  root.write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  root.write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  root.write("sys/fs/cgroup/cpu/c/cpu.stat", "nr_throttled 3\nthrottled_time 9000\n");
  root.write("sys/fs/cgroup/memory/c/memory.usage_in_bytes", "5000\n");
  root.write("sys/fs/cgroup/memory/c/memory.limit_in_bytes", "9223372036854771712\n");
  root.write("sys/fs/cgroup/memory/c/memory.stat", "total_inactive_file 1000\n");
  root.write("sys/fs/cgroup/memory/c/memory.max_usage_in_bytes", "6000\n");
  root.write("sys/fs/cgroup/memory/c/memory.oom_control", "oom_kill_disable 0\noom_kill 1\n");
  root.write("sys/fs/cgroup/pids/c/pids.current", "3\n");
  root.write("sys/fs/cgroup/pids/c/pids.max", "100\n");
  const auto stats = read_container_stats(root.path);
  EXPECT_EQ(stats.cgroup_version, 1);
  EXPECT_EQ(stats.cpu.used_us, 7000U);
  EXPECT_EQ(stats.cpu.throttled_us, 9U);
  EXPECT_EQ(stats.cpu.limit_millis, 500U);
  EXPECT_EQ(stats.memory.used_bytes, 4000U);
  EXPECT_FALSE(stats.memory.limit_bytes) << "version 1 shows a huge number for no limit";
  EXPECT_EQ(stats.memory.peak_bytes, 6000U);
  EXPECT_EQ(stats.memory.oom_kills, 1U);
  EXPECT_EQ(stats.pids.used, 3U);
  EXPECT_EQ(stats.pids.limit, 100U);
}

TEST(ContainerStats, OmitMissingFigures) {
  const FakeRoot root;
  const auto stats = read_container_stats(root.path);
  EXPECT_FALSE(stats.cgroup_version);
  EXPECT_FALSE(stats.cpu.used_us);
  EXPECT_FALSE(stats.cpu.limit_millis);
  EXPECT_FALSE(stats.memory.used_bytes);
  EXPECT_FALSE(stats.pids.used);
}

TEST(ContainerStats, DiskStatsAreThoseOfThePath) {
  const FakeRoot root;
  const auto disk = read_disk_stats(root.path);
  ASSERT_TRUE(disk);
  EXPECT_GT(disk->total_bytes, 0U);
  EXPECT_LE(disk->available_bytes, disk->total_bytes);
  EXPECT_FALSE(read_disk_stats(root.path / "nope"));
}

}  // namespace
}  // namespace skiff::sessions
