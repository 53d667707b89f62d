#include "sessions/process_tree.hpp"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  const auto found = processes_of(tagged.tag);
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
  EXPECT_TRUE(processes_of(new_tag()).empty());
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
  EXPECT_TRUE(pids_of(tag).empty());
}

TEST(ProcessTree, FindsADaemonThatForkedTwiceAndHasNoEnvironment) {
  Tagged tagged{{"daemon"}};
  const pid_t daemon = std::atoi(tagged.line.c_str());
  ASSERT_GT(daemon, 0);
  EXPECT_EQ(WEXITSTATUS(tagged.child->wait()), 0);
  EXPECT_EQ(pids_of(tagged.tag), std::vector<pid_t>{daemon});
  EXPECT_EQ(signal_tree(tagged.tag, SIGKILL), 1U);
  EXPECT_TRUE(test::eventually([&] { return pids_of(tagged.tag).empty(); }));
}

TEST(ProcessTree, FindsAProcessThatLoweredItsSoftLimit) {
  const Tagged tagged{{"lower-soft-mark"}};
  EXPECT_EQ(tagged.line, "ready");
  EXPECT_EQ(pids_of(tagged.tag), std::vector<pid_t>{tagged.child->pid()});
}

TEST(ProcessTree, FindsAProcessOfAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make one";
  const Tagged tagged{
      {"stay"}, Credentials{.uid = 65534, .gid = 65534, .groups = {65534}, .name = "x", .home = "/", .shell = ""}};
  EXPECT_EQ(pids_of(tagged.tag), std::vector<pid_t>{tagged.child->pid()});
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

/// As after its tag has come to be another process' too: the agent's mark can be lowered by its commands.
TEST(ProcessTree, NeverHoldsTheAgentItself) {
  const pid_t child = ::fork();
  if (child == 0) {
    const Tag tag = new_tag();
    const rlimit mark{tag, tag};
    if (::setrlimit(RLIMIT_RTTIME, &mark) != 0) ::_exit(2);
    ::_exit(pids_of(tag).empty() && signal_tree(tag, SIGKILL) == 0 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(ProcessTree, HoldsALeaderWithoutItsTag) {
  const Tagged tagged{{"unmark"}};
  EXPECT_EQ(tagged.line, "ready");
  EXPECT_TRUE(pids_of(tagged.tag).empty());
  const Tree tree{tagged.tag, std::make_shared<Leader>(Leader{.pid = tagged.child->pid()})};
  EXPECT_EQ(pids_of(tree), std::vector<pid_t>{tagged.child->pid()});
}

TEST(ProcessTree, HoldsWhatIsInTheLeadersSessionWithoutItsTag) {
  const Tagged tagged{{"unmark-child"}};
  const pid_t child = std::atoi(tagged.line.c_str());
  const Tree tree{tagged.tag, std::make_shared<Leader>(Leader{.pid = tagged.child->pid()})};
  EXPECT_THAT(pids_of(tree), testing::UnorderedElementsAre(tagged.child->pid(), child));
  signal_tree(tree, SIGKILL);
}

TEST(ProcessTree, HoldsTheChildOfAMemberThatHasLeftItsSessionAndItsTag) {
  const Tagged tagged{{"unmark-session"}};
  const pid_t child = std::atoi(tagged.line.c_str());
  EXPECT_THAT(pids_of(tagged.tag), testing::UnorderedElementsAre(tagged.child->pid(), child));
  EXPECT_EQ(signal_tree(tagged.tag, SIGKILL), 2U);
  EXPECT_TRUE(test::eventually([&] { return ::kill(child, 0) != 0; }));
}

TEST(ProcessTree, DoesNotHoldWhoHasTheNumberOfAReapedLeader) {
  const Tagged other{{"unmark"}};
  const Tree tree{new_tag(), std::make_shared<Leader>(Leader{.pid = other.child->pid(), .reaped = true})};
  EXPECT_TRUE(pids_of(tree).empty());
}

}  // namespace
}  // namespace skiff::sessions
