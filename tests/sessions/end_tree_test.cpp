#include <cstdlib>
#include <filesystem>

#include "sessions/process_tree.hpp"
#include "sessions/reaper.hpp"
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
  Tagged tagged{{"ignore-term"}};
  EXPECT_EQ(tagged.line, "ready");
  EXPECT_TRUE(co_await end_tree(tagged.tag, milliseconds{50}, kLong));
  EXPECT_TRUE(has_ended(tagged.child->pid()));
  EXPECT_EQ(WTERMSIG(tagged.child->wait()), SIGKILL);
}

CO_TEST(EndTree, LetsAStoppedProcessActOnSigterm) {
  Tagged tagged{{"stop"}};
  siginfo_t info{};
  CO_ASSERT_TRUE(::waitid(P_PID, static_cast<id_t>(tagged.child->pid()), &info, WSTOPPED) == 0);
  EXPECT_TRUE(co_await end_tree(tagged.tag, kLong, kLong));
  EXPECT_EQ(WEXITSTATUS(tagged.child->wait()), 7);
}

CO_TEST(EndTree, KillsAStoppedProcessWithoutGrace) {
  Tagged tagged{{"stop"}};
  siginfo_t info{};
  CO_ASSERT_TRUE(::waitid(P_PID, static_cast<id_t>(tagged.child->pid()), &info, WSTOPPED) == 0);
  EXPECT_TRUE(co_await end_tree(tagged.tag, milliseconds{0}, kLong));
  EXPECT_EQ(WTERMSIG(tagged.child->wait()), SIGKILL);
}

CO_TEST(EndTree, EndsADaemonAndItsLeader) {
  Tagged tagged{{"daemon-and-stay"}};
  EXPECT_EQ(pids_with(tagged.tag).size(), 2U);
  EXPECT_TRUE(co_await end_tree(tagged.tag, kLong, kLong));
  EXPECT_TRUE(pids_with(tagged.tag).empty());
  EXPECT_EQ(WTERMSIG(tagged.child->wait()), SIGTERM);
}

CO_TEST(EndTree, EndsATreeThatKeepsForking) {
  Reaper reaper{executor};
  SpawnRequest request = testcmd({"fork-forever"});
  request.tag = new_tag();
  const Tag tag = request.tag;
  auto [read, write] = test::make_pipe();
  request.out = std::move(write);
  request.announced = reaper.begin_spawn();
  const AnnouncedSpawn announced = request.announced;
  const auto pid = Spawner::spawn_here(request);
  request = {};
  CO_ASSERT_TRUE(pid);
  reaper.conclude_spawn(announced, *pid, [](const Reaped&) {});
  EXPECT_EQ(test::read_line(read.get()), "ready");
  EXPECT_TRUE(co_await end_tree(tag, milliseconds{0}, kLong));
  EXPECT_TRUE(pids_with(tag).empty());
  // The pipe was held by every one of them.
  char byte = 0;
  EXPECT_TRUE(test::readable(read.get()) && ::read(read.get(), &byte, 1) == 0);
}

CO_TEST(EndTree, IsDoneAtOnceWhenNothingCarriesTheTag) {
  EXPECT_TRUE(co_await end_tree(new_tag(), kLong, kLong));
}

CO_TEST(EndTree, LeavesOtherCommandsAlone) {
  Tagged one{{"stay"}};
  const Tagged other{{"stay"}};
  EXPECT_TRUE(co_await end_tree(one.tag, kLong, kLong));
  EXPECT_EQ(pids_with(other.tag), std::vector<pid_t>{other.child->pid()});
}

/// Under a tag of the test below this runs as a second agent inside a command.
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
  auto [read, write] = test::make_pipe();
  request.out = std::move(write);
  Child child{std::move(request)};
  const std::string daemon = test::read_line(read.get());
  EXPECT_EQ(WEXITSTATUS(child.wait()), 0);
  EXPECT_EQ(pids_with(tag), std::vector<pid_t>{std::atoi(daemon.c_str())});
  if (std::getenv("LEAVE_THE_DAEMON") == nullptr) signal_tree(tag, SIGKILL);
}

CO_TEST(EndTree, EndsWhatAnAgentInsideTheCommandStarted) {
  SpawnRequest request = testcmd({});
  request.argv = {"/proc/self/exe", "--gtest_filter=NestedAgent.*", "--gtest_color=no"};
  request.argv[0] = std::filesystem::read_symlink("/proc/self/exe");
  request.env.add("LEAVE_THE_DAEMON=1");
  request.tag = new_tag();
  const Tag tag = request.tag;
  auto [read, write] = test::make_pipe();
  request.out = std::move(write);
  Child child{std::move(request)};
  const std::string output = test::read_all(read.get());
  EXPECT_EQ(child.wait(), 0) << output;
  EXPECT_EQ(pids_with(tag).size(), 1U) << "the daemon of the inner agent's command";
  EXPECT_TRUE(co_await end_tree(tag, kLong, kLong));
  EXPECT_TRUE(pids_with(tag).empty());
}

}  // namespace
}  // namespace skiff::sessions
