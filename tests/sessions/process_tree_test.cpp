#include "sessions/process_tree.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "tests/support/child.hpp"

namespace skiff::sessions {
namespace {

using test::Child;
using test::new_tag;
using test::Tagged;
using test::testcmd;

bool contains(const std::vector<pid_t>& pids, pid_t pid) {
  return std::ranges::find(pids, pid) != pids.end();
}

TEST(ProcessTree, ShowsAProcessAsProcDoes) {
  const Tagged tagged{{"stay"}};
  const auto found = processes_with(tagged.tag);
  ASSERT_EQ(found.size(), 1U);
  const ProcessInfo& info = found.front();
  EXPECT_EQ(info.pid, tagged.child->pid());
  EXPECT_EQ(info.parent, ::getpid());
  EXPECT_EQ(info.group, info.pid);
  EXPECT_EQ(info.session, info.pid);
  EXPECT_EQ(info.name, "testcmd");
  EXPECT_EQ(info.command_line, std::string{SKIFF_TESTCMD} + " stay");
  EXPECT_GT(info.rss_bytes, 0U);
  EXPECT_GT(info.start_ticks, 0U);
}

TEST(ProcessTree, FindsNobodyForAnUnusedTag) {
  EXPECT_TRUE(processes_with(new_tag()).empty());
  EXPECT_EQ(signal_tree(new_tag(), SIGKILL), 0U);
}

TEST(ProcessTree, LeavesZombiesOut) {
  SpawnRequest request = testcmd({"exit", "0"});
  request.tag = new_tag();
  const Tag tag = request.tag;
  const Child child{std::move(request)};
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child.pid()), &info, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(mark_of(child.pid()), tag) << "the zombie is there and carries the tag";
  EXPECT_TRUE(pids_with(tag).empty());
}

TEST(ProcessTree, FindsADaemonThatForkedTwiceAndHasNoEnvironment) {
  Tagged tagged{{"daemon"}};
  const pid_t daemon = std::atoi(tagged.line.c_str());
  ASSERT_GT(daemon, 0);
  EXPECT_EQ(WEXITSTATUS(tagged.child->wait()), 0);
  EXPECT_EQ(pids_with(tagged.tag), std::vector<pid_t>{daemon});
  EXPECT_EQ(signal_tree(tagged.tag, SIGKILL), 1U);
  EXPECT_TRUE(test::eventually([&] { return pids_with(tagged.tag).empty(); }));
}

TEST(ProcessTree, FindsAProcessThatLoweredItsSoftLimit) {
  const Tagged tagged{{"lower-soft-mark"}};
  EXPECT_EQ(tagged.line, "ready");
  EXPECT_EQ(pids_with(tagged.tag), std::vector<pid_t>{tagged.child->pid()});
}

TEST(ProcessTree, FindsAProcessOfAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make one";
  const Tagged tagged{
      {"stay"}, Credentials{.uid = 65534, .gid = 65534, .groups = {65534}, .name = "x", .home = "/", .shell = ""}};
  EXPECT_EQ(pids_with(tagged.tag), std::vector<pid_t>{tagged.child->pid()});
}

TEST(ProcessTree, NamesTheProcessesThatHoldAPipe) {
  Tagged tagged{{"daemon-and-stay"}};
  const pid_t daemon = std::atoi(tagged.line.c_str());
  struct stat info{};
  ASSERT_EQ(::fstat(tagged.out.get(), &info), 0);
  const auto holders = holders_of(tagged.tag, {info.st_ino});
  EXPECT_TRUE(contains(holders, daemon));
  EXPECT_TRUE(contains(holders, tagged.child->pid()));
  struct stat null{};
  ASSERT_EQ(::stat("/dev/null", &null), 0);
  EXPECT_TRUE(holders_of(tagged.tag, {null.st_ino}).empty()) << "a device is no terminal";
  EXPECT_TRUE(holders_of(tagged.tag, {}).empty());
  signal_tree(tagged.tag, SIGKILL);
}

TEST(ProcessTree, SignalsOneProcessOnlyIfItCarriesTheTag) {
  Tagged tagged{{"stay"}};
  EXPECT_FALSE(signal_one(new_tag(), tagged.child->pid(), SIGKILL));
  EXPECT_FALSE(signal_one(tagged.tag, ::getpid(), SIGKILL));
  EXPECT_TRUE(signal_one(tagged.tag, tagged.child->pid(), SIGTERM));
  EXPECT_EQ(WTERMSIG(tagged.child->wait()), SIGTERM);
  EXPECT_FALSE(signal_one(tagged.tag, 0x3fffffff, SIGKILL));
}

}  // namespace
}  // namespace skiff::sessions
