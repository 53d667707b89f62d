#include "sessions/process/process_tree.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/child.hpp"
#include "tests/support/paths.hpp"

namespace skiff::sessions {
namespace {

using test::Child;
using test::new_tag;
using test::Tagged;
using test::testcmd;

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
  EXPECT_EQ(info.command_line, std::string{test::kTestcmd} + " stay");
  EXPECT_GT(info.rss_bytes, 0U);
  EXPECT_GT(info.start_ticks, 0U);
}

TEST(ProcessTree, FindsNoProcessForAnUnusedTag) {
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

TEST(ProcessTree, BeginsWithTheLeaderWhateverItsNumber) {
  const Tagged older{{"stay"}};
  SpawnRequest request = testcmd({"stay"});
  request.tag = older.tag;
  const Child leader{std::move(request)};
  const Tree tree{older.tag, std::make_shared<Leader>(leader.pid())};
  EXPECT_EQ(pids_of(tree), (std::vector{leader.pid(), older.child->pid()}));
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

/// Commands can lower the agent's mark, so that it equals a tag.
TEST(ProcessTree, NeverContainsTheAgentItself) {
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

TEST(ProcessTree, ContainsALeaderWithoutItsTag) {
  const Tagged tagged{{"unmark"}};
  EXPECT_EQ(tagged.line, "ready");
  EXPECT_TRUE(pids_of(tagged.tag).empty());
  const Tree tree{tagged.tag, std::make_shared<Leader>(tagged.child->pid())};
  EXPECT_EQ(pids_of(tree), std::vector<pid_t>{tagged.child->pid()});
}

TEST(ProcessTree, ContainsProcessesOfTheLeadersSessionWithoutTheTag) {
  const Tagged tagged{{"unmark-child"}};
  const pid_t child = std::atoi(tagged.line.c_str());
  const Tree tree{tagged.tag, std::make_shared<Leader>(tagged.child->pid())};
  EXPECT_THAT(pids_of(tree), testing::UnorderedElementsAre(tagged.child->pid(), child));
  signal_tree(tree, SIGKILL);
}

TEST(ProcessTree, ContainsTheChildOfAMemberWithoutSessionAndTag) {
  const Tagged tagged{{"unmark-session"}};
  const pid_t child = std::atoi(tagged.line.c_str());
  EXPECT_THAT(pids_of(tagged.tag), testing::UnorderedElementsAre(tagged.child->pid(), child));
  EXPECT_EQ(signal_tree(tagged.tag, SIGKILL), 2U);
  EXPECT_TRUE(test::eventually([&] {
    // Reap the child if an earlier test made this process a subreaper.
    (void)::waitpid(child, nullptr, WNOHANG);
    return ::kill(child, 0) != 0;
  }));
}

TEST(ProcessTree, ExcludesAProcessThatReusesTheLeadersPid) {
  const Tagged other{{"unmark"}};
  const Tree tree{new_tag(), std::make_shared<Leader>(other.child->pid(), Leader::Number::free)};
  EXPECT_TRUE(pids_of(tree).empty());
}

/// One pass over the processes serves all trees.
TEST(ProcessTree, ListsSeveralTreesLikeEachAlone) {
  const Tagged one{{"daemon-and-stay"}};
  const Tagged other{{"unmark-session"}};
  const pid_t child = std::atoi(other.line.c_str());
  const auto found = processes_of_each({new_tag(), one.tag, other.tag});
  ASSERT_EQ(found.size(), 3U);
  const auto pids = [&](std::size_t index) {
    std::vector<pid_t> all;
    for (const ProcessInfo& info : found[index]) all.push_back(info.pid);
    return all;
  };
  EXPECT_TRUE(found[0].empty());
  EXPECT_THAT(pids(1), testing::UnorderedElementsAreArray(pids_of(one.tag)));
  EXPECT_THAT(pids(2), testing::UnorderedElementsAre(other.child->pid(), child)) << "known by its parent alone";
  EXPECT_GT(found[1].front().rss_bytes, 0U);
  signal_tree(one.tag, SIGKILL);
  signal_tree(other.tag, SIGKILL);
}

TEST(ProcessTree, WaitsWhileTheReaperFreesTheLeadersPid) {
  const Tagged tagged{{"unmark"}};
  const auto leader = std::make_shared<Leader>(tagged.child->pid(), Leader::Number::changing);
  std::jthread reaper{[&] { leader->number = Leader::Number::free; }};
  EXPECT_TRUE(pids_of({new_tag(), leader}).empty());
}

TEST(ProcessTree, SignalsOnlyTheLeadersGroup) {
  Tagged tagged{{"daemon-and-stay"}};
  const pid_t daemon = std::atoi(tagged.line.c_str());
  const Tree tree{tagged.tag, std::make_shared<Leader>(tagged.child->pid())};
  EXPECT_EQ(signal_tree(tree, SIGKILL, Among::leaders_group), 1U);
  EXPECT_EQ(WTERMSIG(tagged.child->wait()), SIGKILL);
  EXPECT_EQ(pids_of(tagged.tag), std::vector<pid_t>{daemon});
  signal_tree(tagged.tag, SIGKILL);
}

TEST(ProcessTree, ReportsAScanThatLackedDescriptors) {
  const Tagged tagged{{"stay"}};
  EXPECT_EQ(pids_of(tagged.tag).size(), 1U);
  EXPECT_FALSE(lacked_descriptors());
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto found = pids_of(tagged.tag);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(found.empty());
  EXPECT_TRUE(lacked_descriptors());
  EXPECT_FALSE(lacked_descriptors()) << "since the last call";
}

TEST(ProcessTree, ChecksLinksWithoutOpeningTheirFiles) {
  const UniqueFd file{::open("/proc/self/stat", O_RDONLY | O_CLOEXEC)};
  const UniqueFd null{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
  const auto pipe = test::create_pipe();
  const auto link = [](const UniqueFd& fd) { return "/proc/self/fd/" + std::to_string(fd.get()); };
  EXPECT_FALSE(leads_to_pipe_or_device(link(file)));
  EXPECT_TRUE(leads_to_pipe_or_device(link(null)));
  EXPECT_TRUE(leads_to_pipe_or_device(link(pipe.read)));
  EXPECT_FALSE(leads_to_pipe_or_device("/proc/self/fd/999999"));
}

}  // namespace
}  // namespace skiff::sessions
