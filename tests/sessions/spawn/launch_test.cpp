#include "sessions/spawn/launch.hpp"

#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <string>

#include "tests/support/child.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/paths.hpp"

namespace skiff::sessions {
namespace {

/// A plan to run testcmd with one or two words.
struct Plan {
  explicit Plan(std::string word, std::string second = {}) : words{test::kTestcmd, std::move(word), std::move(second)} {
    argv = {words[0].data(), words[1].data(), words[2].empty() ? nullptr : words[2].data(), nullptr};
    plan.candidates = candidates.data();
    plan.argv = argv.data();
    plan.envp = envp.data();
    plan.shell_argv = shell_argv.data();
  }
  std::array<std::string, 3> words;
  std::array<const char*, 2> candidates{test::kTestcmd, nullptr};
  std::array<char*, 4> argv{};
  std::array<char*, 1> envp{nullptr};
  std::string shell = "/bin/sh";
  std::array<char*, 3> shell_argv{shell.data(), nullptr, nullptr};
  LaunchPlan plan;
};

int exit_code(pid_t pid) {
  int status = -1;
  return ::waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(ChildStack, HasAllOfItsBytesWhateverThePageSize) {
  for (const std::size_t page : {4096u, 16384u, 65536u}) {
    const ChildStack stack{page};
    ASSERT_NE(stack.top(), nullptr);
    std::memset(stack.top() - ChildStack::kBytes, 1, ChildStack::kBytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(stack.top()) % 16, 0u);
  }
}

TEST(LaunchPad, DoesWithoutASharedTableOfDescriptors) {
  test::expect_without(
      [] {
        LaunchPad pad;
        const Plan plan{"exit", "9"};
        const Launched launched = pad.launch(plan.plan, nullptr);
        EXPECT_EQ(launched.error, 0);
        EXPECT_EQ(exit_code(launched.pid), 9);
      },
      SYS_clone, EINVAL, 0, CLONE_FILES);
}

TEST(LaunchPad, ReturnsOnceTheProgramRuns) {
  LaunchPad pad;
  const Plan plan{"exit", "9"};
  std::atomic<pid_t> seen{0};
  const Launched launched = pad.launch(plan.plan, &seen);
  EXPECT_EQ(launched.error, 0);
  EXPECT_EQ(seen.load(), launched.pid);
  EXPECT_EQ(exit_code(launched.pid), 9);
}

TEST(LaunchPad, ReturnsThePidOfAFailedChild) {
  LaunchPad pad;
  Plan plan{"exit", "0"};
  plan.candidates = {"/no/such/program", nullptr};
  std::atomic<pid_t> seen{0};
  const Launched launched = pad.launch(plan.plan, &seen);
  EXPECT_EQ(launched.error, ENOENT);
  EXPECT_EQ(launched.stage, LaunchStage::exec);
  EXPECT_GT(launched.pid, 0);
  EXPECT_EQ(seen.load(), launched.pid);
  EXPECT_EQ(exit_code(launched.pid), 127);
}

TEST(LaunchPad, CreatesNoChildForADescriptorThatIsNotOpen) {
  LaunchPad pad;
  Plan plan{"exit", "0"};
  plan.plan.descriptors[1] = 1'000'000;
  const Launched launched = pad.launch(plan.plan, nullptr);
  EXPECT_NE(launched.error, 0);
  if (launched.pid > 0) {
    // Without low numbers the child reports the error.
    EXPECT_EQ(exit_code(launched.pid), 127);
  }
  EXPECT_EQ(launched.stage, LaunchStage::descriptors);
}

TEST(LaunchPad, HoldsNoPipeAfterAFailedLaunch) {
  LaunchPad pad;
  Plan plan{"exit", "0"};
  auto [read, write] = test::create_pipe();
  plan.plan.descriptors = {-1, write.get(), -1};
  plan.plan.extra[0] = {1'000'000, 3};
  plan.plan.extra_count = 1;
  const Launched launched = pad.launch(plan.plan, nullptr);
  EXPECT_NE(launched.error, 0);
  if (launched.pid > 0) EXPECT_EQ(exit_code(launched.pid), 127);
  write.reset();
  char byte = 0;
  EXPECT_TRUE(test::readable(read.get()) && ::read(read.get(), &byte, 1) == 0) << "an end that the pad still holds";
}

TEST(LaunchPad, LaunchesManyChildrenInARow) {
  LaunchPad pad;
  for (int i = 0; i < 200; ++i) {
    const Plan plan{"exit", std::to_string(i)};
    const Launched launched = pad.launch(plan.plan, nullptr);
    ASSERT_EQ(launched.error, 0);
    ASSERT_EQ(exit_code(launched.pid), i);
  }
}

TEST(LaunchPad, KeepsTheCallersSignalMask) {
  LaunchPad pad;
  sigset_t set;
  sigset_t before;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  ::pthread_sigmask(SIG_SETMASK, &set, &before);
  const Plan plan{"exit", "0"};
  const Launched launched = pad.launch(plan.plan, nullptr);
  sigset_t after;
  ::pthread_sigmask(SIG_SETMASK, &before, &after);
  EXPECT_EQ(exit_code(launched.pid), 0);
  EXPECT_EQ(sigismember(&after, SIGUSR2), 1);
  EXPECT_EQ(sigismember(&after, SIGTERM), 0);
}

}  // namespace
}  // namespace skiff::sessions
