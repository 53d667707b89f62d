#include "container/drivers/box/limits/groups.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

namespace skiff::container::box {
namespace {

namespace files = std::filesystem;

constexpr HostLimits kBoth{.memory_bytes = 64U << 20U, .cpu_thousandths = 1500, .processes = 0};

/// A directory with the files that the kernel has for control groups.
class GroupsTest : public testing::Test {
 protected:
  GroupsTest() : root_{testing::TempDir() + "groups-" + std::to_string(::getpid())} {
    files::remove_all(root_);
    files::create_directories(root_ / "proc/self");
  }
  ~GroupsTest() override { files::remove_all(root_); }

  void mounted(const std::string& lines) { std::ofstream{root_ / "proc/self/mountinfo"} << lines; }
  std::string content(const std::string& file) {
    std::ostringstream text;
    text << std::ifstream{root_ / file}.rdbuf();
    return text.str();
  }

  files::path root_;
};

TEST_F(GroupsTest, OfVersion2AreOneDirectory) {
  files::create_directories(root_ / "sys/fs/cgroup");
  std::ofstream{root_ / "sys/fs/cgroup/cgroup.controllers"} << "cpuset cpu memory pids\n";
  mounted("30 23 0:26 / /sys/fs/cgroup rw shared:9 - cgroup2 cgroup2 rw,nsdelegate\n");
  const auto groups = create_groups("demo.1.2", kBoth, root_);
  ASSERT_TRUE(groups.has_value()) << groups.error().message;
  ASSERT_EQ(groups->size(), 1U);
  EXPECT_EQ(groups->front().directory, (root_ / "sys/fs/cgroup/skiff/demo.1.2").string());
  EXPECT_EQ(groups->front().target, "/sys/fs/cgroup");
  EXPECT_EQ(content("sys/fs/cgroup/skiff/demo.1.2/memory.max"), std::to_string(64U << 20U));
  EXPECT_EQ(content("sys/fs/cgroup/skiff/demo.1.2/memory.swap.max"), "0");
  EXPECT_EQ(content("sys/fs/cgroup/skiff/demo.1.2/cpu.max"), "150000 100000");
  EXPECT_EQ(content("sys/fs/cgroup/cgroup.subtree_control"), "+cpu");
  EXPECT_EQ(content("sys/fs/cgroup/skiff/cgroup.subtree_control"), "+cpu");
}

TEST_F(GroupsTest, OfVersion1AreOneForEachController) {
  for (const char* one : {"memory", "cpu,cpuacct", "unified"}) files::create_directories(root_ / "sys/fs/cgroup" / one);
  std::ofstream{root_ / "sys/fs/cgroup/unified/cgroup.controllers"} << "hugetlb\n";
  mounted(
      "31 23 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
      "32 23 0:28 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
      "33 23 0:29 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
  const auto groups = create_groups("demo.1.2", kBoth, root_);
  ASSERT_TRUE(groups.has_value()) << groups.error().message;
  ASSERT_EQ(groups->size(), 2U);
  EXPECT_EQ(groups->at(0).target, "/sys/fs/cgroup/memory");
  EXPECT_EQ(groups->at(1).directory, (root_ / "sys/fs/cgroup/cpu,cpuacct/skiff/demo.1.2").string());
  EXPECT_EQ(groups->at(1).target, "/sys/fs/cgroup/cpu");
  EXPECT_EQ(content("sys/fs/cgroup/memory/skiff/demo.1.2/memory.limit_in_bytes"), std::to_string(64U << 20U));
  EXPECT_EQ(content("sys/fs/cgroup/cpu,cpuacct/skiff/demo.1.2/cpu.cfs_quota_us"), "150000");
}

TEST_F(GroupsTest, ThatCannotBeMadeAreRefusedWithTheWaysOn) {
  mounted("20 1 8:1 / / rw - ext4 /dev/sda1 rw\n");
  const auto groups = create_groups("demo.1.2", {.memory_bytes = 64U << 20U}, root_);
  ASSERT_FALSE(groups.has_value());
  EXPECT_EQ(groups.error().field, "--memory");
  for (const char* word : {"controller memory", "--driver docker", "leave out --memory"}) {
    EXPECT_NE(groups.error().message.find(word), std::string::npos) << groups.error().message;
  }
}

TEST_F(GroupsTest, HaveANameThatTellsTheDirectory) {
  files::create_directories(root_ / "a/demo");
  files::create_directories(root_ / "b/demo");
  EXPECT_EQ(group_name(root_ / "a/demo"), group_name(root_ / "a/demo"));
  EXPECT_NE(group_name(root_ / "a/demo"), group_name(root_ / "b/demo"));
  EXPECT_TRUE(group_name(root_ / "a/demo").starts_with("demo."));
}

}  // namespace
}  // namespace skiff::container::box
