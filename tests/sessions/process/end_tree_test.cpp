#include <cstdlib>
#include <filesystem>

#include "sessions/process/process_looks.hpp"
#include "sessions/process/process_tree.hpp"
#include "sessions/spawn/reaper.hpp"
#include "tests/support/child.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::sessions {
namespace {

using std::chrono::milliseconds;
using test::Child;
using test::new_tag;
using test::Tagged;
using test::testcmd;

constexpr milliseconds kLong{15'000};

bool has_ended(pid_t pid) {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == pid;
}

CO_TEST(EndTree, EndsAProcessThatIgnoresSigterm) {
  ProcessLooks looks{"test-looks"};
  Tagged tagged{{"ignore-term"}};
  EXPECT_EQ(tagged.line, "ready");
  EXPECT_TRUE(co_await end_tree(&looks, tagged.tag, milliseconds{50}, kLong));
  EXPECT_TRUE(has_ended(tagged.child->pid()));
  EXPECT_EQ(WTERMSIG(tagged.child->wait()), SIGKILL);
}

CO_TEST(EndTree, LetsAStoppedProcessActOnSigterm) {
  ProcessLooks looks{"test-looks"};
  Tagged tagged{{"stop"}};
  siginfo_t info{};
  CO_ASSERT_TRUE(::waitid(P_PID, static_cast<id_t>(tagged.child->pid()), &info, WSTOPPED) == 0);
  EXPECT_TRUE(co_await end_tree(&looks, tagged.tag, kLong, kLong));
  EXPECT_EQ(WEXITSTATUS(tagged.child->wait()), 7);
}

CO_TEST(EndTree, KillsAStoppedProcessWithoutGrace) {
  ProcessLooks looks{"test-looks"};
  Tagged tagged{{"stop"}};
  siginfo_t info{};
  CO_ASSERT_TRUE(::waitid(P_PID, static_cast<id_t>(tagged.child->pid()), &info, WSTOPPED) == 0);
  EXPECT_TRUE(co_await end_tree(&looks, tagged.tag, milliseconds{0}, kLong));
  EXPECT_EQ(WTERMSIG(tagged.child->wait()), SIGKILL);
}

CO_TEST(EndTree, EndsADaemonAndItsLeader) {
  ProcessLooks looks{"test-looks"};
  Tagged tagged{{"daemon-and-stay"}};
  // The daemon writes while its parent is still ending.
  while (pids_of(tagged.tag).size() > 2) co_await test::pause(milliseconds{1});
  EXPECT_EQ(pids_of(tagged.tag).size(), 2U);
  EXPECT_TRUE(co_await end_tree(&looks, tagged.tag, kLong, kLong));
  EXPECT_TRUE(pids_of(tagged.tag).empty());
  EXPECT_EQ(WTERMSIG(tagged.child->wait()), SIGTERM);
}

/// A child with a reaper, like the agent's commands, that has written "ready".
struct Led {
  Led(Executor executor, std::string word) : reaper{executor} {
    SpawnRequest request = testcmd({std::move(word)});
    request.tag = tree.tag;
    auto [read, write] = test::create_pipe();
    out = std::move(read);
    request.out = std::move(write);
    request.announced = reaper.begin_spawn();
    const AnnouncedSpawn announced = request.announced;
    const pid_t pid = Spawner::spawn_here(request).value();
    reaper.conclude_spawn(announced, pid, [](const Reaped&) {}, leader);
    request = {};
    EXPECT_EQ(test::read_line(out.get()), "ready");
  }
  Reaper reaper;
  std::shared_ptr<Leader> leader = std::make_shared<Leader>();
  Tree tree{new_tag(), leader};
  UniqueFd out;
};

CO_TEST(EndTree, EndsATreeThatKeepsForking) {
  ProcessLooks looks{"test-looks"};
  const Led led{executor, "fork-forever"};
  EXPECT_TRUE(co_await end_tree(&looks, led.tree, milliseconds{0}, kLong));
  EXPECT_TRUE(pids_of(led.tree.tag).empty());
  // Every process of the tree held the pipe.
  char byte = 0;
  EXPECT_TRUE(test::readable(led.out.get()) && ::read(led.out.get(), &byte, 1) == 0);
}

CO_TEST(EndTree, EndsALeaderWithoutItsTagAndWaitsUntilItIsReaped) {
  ProcessLooks looks{"test-looks"};
  const Led led{executor, "unmark"};
  EXPECT_TRUE(co_await end_tree(&looks, led.tree, milliseconds{0}, kLong));
  EXPECT_TRUE(led.leader->reaped());
}

CO_TEST(EndTree, ReportsProcessesThatItCannotEnd) {
  ProcessLooks looks{"test-looks"};
  // No reaper reaps this one, so it looks as if it could not die.
  const Tagged tagged{{"stay"}};
  const auto leader = std::make_shared<Leader>(tagged.child->pid());
  EXPECT_FALSE(co_await end_tree(&looks, Tree{tagged.tag, leader}, milliseconds{0}, milliseconds{50}));
}

CO_TEST(EndTree, ReturnsAtOnceWhenNoProcessHasTheTag) {
  ProcessLooks looks{"test-looks"};
  EXPECT_TRUE(co_await end_tree(&looks, new_tag(), kLong, kLong));
}

CO_TEST(EndTree, LeavesOtherCommandsAlone) {
  ProcessLooks looks{"test-looks"};
  Tagged one{{"stay"}};
  const Tagged other{{"stay"}};
  EXPECT_TRUE(co_await end_tree(&looks, one.tag, kLong, kLong));
  EXPECT_EQ(pids_of(other.tag), std::vector<pid_t>{other.child->pid()});
}

/// The test below runs this as a second agent inside a command, under a tag.
TEST(NestedAgent, MarksItsCommandsBelowItsOwnMark) {
  const auto own = mark_of(::getpid());
  ASSERT_TRUE(own);
  Spawner spawner{1};
  SpawnRequest request = testcmd({"daemon"});
  request.tag = spawner.new_tag();
  const Tag tag = request.tag;
  EXPECT_LT(tag, *own);
  EXPECT_GT(tag, Tag{1} << 40U);
  EXPECT_FALSE(belongs(*own, tag));
  auto [read, write] = test::create_pipe();
  request.out = std::move(write);
  Child child{std::move(request)};
  const std::string daemon = test::read_line(read.get());
  EXPECT_EQ(WEXITSTATUS(child.wait()), 0);
  EXPECT_EQ(pids_of(tag), std::vector<pid_t>{std::atoi(daemon.c_str())});
  if (std::getenv("LEAVE_THE_DAEMON") == nullptr) signal_tree(tag, SIGKILL);
}

CO_TEST(EndTree, EndsCommandsOfAnAgentInsideTheCommand) {
  ProcessLooks looks{"test-looks"};
  SpawnRequest request = testcmd({});
  request.argv = {"/proc/self/exe", "--gtest_filter=NestedAgent.*", "--gtest_color=no"};
  request.argv[0] = std::filesystem::read_symlink("/proc/self/exe");
  request.env.add("LEAVE_THE_DAEMON=1");
  request.tag = new_tag();
  const Tag tag = request.tag;
  auto [read, write] = test::create_pipe();
  request.out = std::move(write);
  Child child{std::move(request)};
  const std::string output = test::read_all(read.get());
  EXPECT_EQ(child.wait(), 0) << output;
  EXPECT_EQ(pids_of(tag).size(), 1U) << "the daemon of the inner agent's command";
  EXPECT_TRUE(co_await end_tree(&looks, tag, kLong, kLong));
  EXPECT_TRUE(pids_of(tag).empty());
}

}  // namespace
}  // namespace skiff::sessions
