#include "sessions/spawn/spawn.hpp"

#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <fstream>

#include "base/kernel_features.hpp"
#include "sessions/spawn/terminal.hpp"
#include "tests/support/child.hpp"
#include "tests/support/reactor_test.hpp"
#include "tests/support/temporary_directory.hpp"

namespace skiff::sessions {
namespace {

using test::Child;
using test::Ran;
using test::run;
using test::TemporaryDirectory;
using test::testcmd;

/// Writes a file into the directory and returns its path.
std::string file_with_mode(const TemporaryDirectory& directory, const std::string& name, const std::string& content,
                           mode_t mode) {
  std::string path = directory.write(name, content);
  ::chmod(path.c_str(), mode);
  return path;
}

SpawnFailure failure_of(const SpawnRequest& request) {
  const auto spawned = Spawner::spawn_here(request);
  EXPECT_FALSE(spawned);
  return spawned ? SpawnFailure{} : spawned.error();
}

/// Opens descriptors without close-on-exec.
std::vector<UniqueFd> inheritable_descriptors(std::size_t count) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, std::max<rlim_t>(limit.rlim_cur, count + 1000));
  ::setrlimit(RLIMIT_NOFILE, &limit);
  std::vector<UniqueFd> all;
  while (all.size() < count) {
    UniqueFd one{::open("/dev/null", O_RDONLY)};
    if (!one) break;
    all.push_back(std::move(one));
  }
  return all;
}

TEST(Spawn, GivesTheExitCode) {
  EXPECT_EQ(WEXITSTATUS(run(testcmd({"exit", "42"})).status), 42);
}

TEST(Spawn, PassesOnlyStdinStdoutAndStderr) {
  EXPECT_EQ(run(testcmd({"descriptors"})).out, "0\n1\n2\n");
}

TEST(Spawn, PassesNoneOfThousandsOfInheritableDescriptors) {
  const auto open = inheritable_descriptors(10'000);
  ASSERT_GT(open.size(), 500U);
  EXPECT_EQ(run(testcmd({"descriptors"})).out, "0\n1\n2\n");
}

TEST(Spawn, WorksWithoutLowDescriptorNumbersInANewThread) {
  const auto open = inheritable_descriptors(2'000);
  Ran ran;
  std::thread{[&ran] { ran = run(testcmd({"descriptors"})); }}.join();
  EXPECT_EQ(ran.out, "0\n1\n2\n");
}

TEST(Spawn, LeavesTheAgentsDescriptorsAlone) {
  const auto open = inheritable_descriptors(100);
  run(testcmd({"exit", "0"}));
  for (const UniqueFd& one : open) EXPECT_GE(::fcntl(one.get(), F_GETFD), 0);
}

TEST(Spawn, HoldsNoPipeOpenAfterwards) {
  test::Pipe pipe = test::create_pipe();
  const Child child{testcmd({"exit", "0"}, std::move(pipe.write))};
  EXPECT_EQ(test::read_all(pipe.read.get()), "") << "an end must come: nobody else holds the pipe";
}

TEST(Spawn, PassesFurtherDescriptorsUnderTheirNumbers) {
  SpawnRequest request = testcmd({"descriptors"});
  for (const int target : {3, 7, 9}) request.extra.emplace_back(::memfd_create("extra", MFD_CLOEXEC), target);
  EXPECT_EQ(run(std::move(request)).out, "0\n1\n2\n3\n7\n9\n");

  UniqueFd script{::memfd_create("script", MFD_CLOEXEC)};
  ASSERT_EQ(::write(script.get(), "echo from the script", 20), 20);
  ::lseek(script.get(), 0, SEEK_SET);
  SpawnRequest shell = testcmd({});
  shell.argv = {"sh", "-c", ". /dev/fd/7"};
  shell.extra.emplace_back(std::move(script), 7);
  EXPECT_EQ(run(std::move(shell)).out, "from the script\n");
}

TEST(Spawn, TakesItsDescriptorsFromLowNumbersInAnyOrder) {
  // Use the agent's own 0 to 2 and 7 as sources, crosswise.
  test::Pipe pipe = test::create_pipe();
  const UniqueFd kept{::fcntl(7, F_DUPFD_CLOEXEC, 20)};
  ASSERT_EQ(::dup3(pipe.write.get(), 7, O_CLOEXEC), 7);
  SpawnRequest request = testcmd({"descriptors"});
  request.out.reset(7);
  request.extra.emplace_back(::fcntl(0, F_DUPFD_CLOEXEC, 3), 7);
  pipe.write.reset();
  {
    const Child child{std::move(request)};
    EXPECT_EQ(test::read_all(pipe.read.get()), "0\n1\n2\n7\n");
  }
  if (kept) ::dup3(kept.get(), 7, O_CLOEXEC);
}

TEST(Spawn, StartsWithDefaultDispositionsAndAnEmptyMaskWhateverTheAgentHas) {
  const auto hangup = std::signal(SIGHUP, SIG_IGN);
  const auto pipe = std::signal(SIGPIPE, SIG_IGN);
  const auto user = std::signal(SIGUSR1, [](int) {});
  sigset_t blocked;
  sigset_t before;
  sigfillset(&blocked);
  ::pthread_sigmask(SIG_SETMASK, &blocked, &before);
  // Use a new thread: a launch pad reads the dispositions once, when it is created.
  Ran ran;
  std::thread{[&ran] { ran = run(testcmd({"status", "SigBlk", "SigIgn", "SigCgt"})); }}.join();
  sigset_t after;
  ::pthread_sigmask(SIG_SETMASK, &before, &after);
  std::signal(SIGHUP, hangup);
  std::signal(SIGPIPE, pipe);
  std::signal(SIGUSR1, user);
  EXPECT_EQ(ran.out,
            "SigBlk:\t0000000000000000\n"
            "SigIgn:\t0000000000000000\n"
            "SigCgt:\t0000000000000000\n");
  EXPECT_EQ(sigismember(&after, SIGTERM), 1) << "the agent's own mask must be as it was";
}

TEST(Spawn, LeavesTheAgentsDispositionsAlone) {
  const auto before = std::signal(SIGUSR2, SIG_IGN);
  run(testcmd({"exit", "0"}));
  EXPECT_EQ(std::signal(SIGUSR2, before), SIG_IGN);
}

TEST(Spawn, StartsANewSessionAtALowerPriority) {
  const int nice = std::min(::getpriority(PRIO_PROCESS, 0) + SpawnRequest{}.nice, 19);
  test::Pipe pipe = test::create_pipe();
  const Child child{testcmd({"identity"}, std::move(pipe.write))};
  const std::string pid = std::to_string(child.pid());
  EXPECT_EQ(test::read_all(pipe.read.get()), "pid " + pid + " ppid " + std::to_string(::getpid()) + " sid " + pid +
                                                 " pgid " + pid + " nice " + std::to_string(nice) + " foreground -1\n");
}

TEST(Spawn, GivesATerminalAsTheControllingOne) {
  auto terminal = open_terminal({});
  ASSERT_TRUE(terminal);
  SpawnRequest request = testcmd({"identity"});
  request.out.reset(::fcntl(terminal->slave.get(), F_DUPFD_CLOEXEC, 0));
  request.err.reset(::fcntl(terminal->slave.get(), F_DUPFD_CLOEXEC, 0));
  request.in = std::move(terminal->slave);
  request.controlling_terminal = true;
  Child child{std::move(request)};
  const std::string pid = std::to_string(child.pid());
  EXPECT_EQ(WEXITSTATUS(child.wait()), 0);
  const std::string line = test::read_line(terminal->master.get());
  EXPECT_NE(line.find("foreground " + pid + "\r"), std::string::npos) << line;
}

TEST(Spawn, RunsInItsWorkingDirectoryWithItsEnvironmentOnly) {
  const TemporaryDirectory directory;
  SpawnRequest request = testcmd({});
  request.argv = {"/bin/sh", "-c", "pwd; /usr/bin/env"};
  request.env = {"ONE=1", "TWO=zwei"};
  request.cwd = directory.path().string();
  const Ran ran = run(std::move(request));
  EXPECT_TRUE(ran.out.starts_with(directory.path().string() + "\n")) << ran.out;
  EXPECT_NE(ran.out.find("ONE=1\n"), std::string::npos);
  EXPECT_EQ(ran.out.find("HOME="), std::string::npos);
}

TEST(Spawn, LooksForItsProgramInThePathOfItsEnvironment) {
  const TemporaryDirectory first;
  const TemporaryDirectory second;
  file_with_mode(first, "tool", "#!/bin/sh\necho refused\n", 0644);
  file_with_mode(second, "tool", "#!/bin/sh\necho found\n", 0755);
  SpawnRequest request = testcmd({});
  request.argv = {"tool"};
  request.env = {"PATH=/nowhere:" + first.path().string() + ":" + second.path().string()};
  EXPECT_EQ(run(std::move(request)).out, "found\n");
}

TEST(Spawn, RunsAScriptWithoutAFirstLineByTheShell) {
  const TemporaryDirectory directory;
  SpawnRequest request = testcmd({});
  request.argv = {file_with_mode(directory, "plain", "echo \"$0 has $1\"\n", 0755), "an argument"};
  const std::string name = request.argv[0];
  EXPECT_EQ(run(std::move(request)).out, name + " has an argument\n");
}

TEST(Spawn, NamesAMissingProgram) {
  SpawnRequest request = testcmd({});
  request.argv = {"no-such-program"};
  const SpawnFailure failure = failure_of(request);
  EXPECT_EQ(failure.stage, "exec");
  EXPECT_EQ(failure.error, ENOENT);
  EXPECT_EQ(failure.message, "exec \"no-such-program\": No such file or directory");
  request.argv = {""};
  EXPECT_EQ(failure_of(request).error, ENOENT);
  request.argv = {};
  EXPECT_EQ(failure_of(request).error, ENOENT);
}

TEST(Spawn, NamesAProgramThatMayNotBeRun) {
  const TemporaryDirectory directory;
  SpawnRequest request = testcmd({});
  request.argv = {file_with_mode(directory, "tool", "#!/bin/sh\n", 0644)};
  EXPECT_EQ(failure_of(request).error, EACCES);
  // A refused program takes precedence over a missing one, as in a shell.
  request.argv = {"tool"};
  request.env = {"PATH=" + directory.path().string() + ":/nowhere"};
  EXPECT_EQ(failure_of(request).error, EACCES);
  EXPECT_EQ(failure_of(request).stage, "exec");
}

TEST(Spawn, NamesAMissingWorkingDirectory) {
  SpawnRequest request = testcmd({"exit", "0"});
  request.cwd = "/no/such/folder";
  const SpawnFailure failure = failure_of(request);
  EXPECT_EQ(failure.stage, "chdir");
  EXPECT_EQ(failure.error, ENOENT);
  EXPECT_EQ(failure.message, "chdir \"/no/such/folder\": No such file or directory");
}

TEST(Spawn, NamesALimitThatCannotBeSet) {
  SpawnRequest request = testcmd({"exit", "0"});
  // This exceeds fs.nr_open, which no process may exceed.
  request.limits.emplace_back(RLIMIT_NOFILE, rlimit{RLIM_INFINITY, RLIM_INFINITY});
  EXPECT_EQ(failure_of(request).stage, "limits");
  EXPECT_EQ(failure_of(request).error, EPERM);
}

TEST(Spawn, ReportsADescriptorThatIsNotATerminal) {
  SpawnRequest request = testcmd({"exit", "0"});
  request.controlling_terminal = true;
  EXPECT_EQ(failure_of(request).stage, "terminal");
}

TEST(Spawn, LeavesNoZombieOfAFailedChild) {
  SpawnRequest request = testcmd({});
  request.argv = {"/no/such/program"};
  request.announced = nullptr;
  (void)failure_of(request);
  siginfo_t info{};
  const int found = ::waitid(P_PGID, static_cast<id_t>(::getpgrp()), &info, WEXITED | WNOHANG | WNOWAIT);
  EXPECT_TRUE(found != 0 || info.si_pid == 0);
}

TEST(Spawn, SetsLimits) {
  SpawnRequest request = testcmd({});
  request.argv = {"/bin/sh", "-c", "ulimit -n; ulimit -f"};
  request.limits.emplace_back(RLIMIT_NOFILE, rlimit{321, 321});
  request.limits.emplace_back(RLIMIT_FSIZE, rlimit{512 * 100, 512 * 100});
  EXPECT_EQ(run(std::move(request)).out, "321\n100\n");
}

TEST(Spawn, MarksTheChildWithItsTag) {
  TagSource tags;
  test::Pipe pipe = test::create_pipe();
  SpawnRequest request = testcmd({"stay"}, std::move(pipe.write));
  request.tag = tags.next();
  const Tag tag = request.tag;
  const Child child{std::move(request)};
  EXPECT_EQ(test::read_line(pipe.read.get()), std::to_string(child.pid()));
  EXPECT_EQ(mark_of(child.pid()), tag);
}

TEST(Spawn, SwitchesTheUserWhereThatIsAllowed) {
  SpawnRequest request = testcmd({"status", "Uid", "Gid", "Groups"});
  request.user =
      Credentials{.uid = 65534, .gid = 65533, .groups = {65533, 4321}, .name = "4", .home = "/", .shell = ""};
  if (::geteuid() == 0) {
    EXPECT_EQ(run(std::move(request)).out,
              "Uid:\t65534\t65534\t65534\t65534\n"
              "Gid:\t65533\t65533\t65533\t65533\n"
              "Groups:\t4321 65533 \n");
  } else {
    const SpawnFailure failure = failure_of(request);
    EXPECT_EQ(failure.stage, "user");
    EXPECT_EQ(failure.error, EPERM);
  }
}

TEST(Spawn, NeedsNoPrivilegeForItsOwnUser) {
  SpawnRequest request = testcmd({"exit", "5"});
  request.user = current_user();
  EXPECT_EQ(WEXITSTATUS(run(std::move(request)).status), 5);
}

TEST(Spawn, RaisesTheOomScore) {
  test::Pipe pipe = test::create_pipe();
  const Child child{testcmd({"stay"}, std::move(pipe.write))};
  (void)test::read_line(pipe.read.get());
  int own = 0;
  int its = 0;
  std::ifstream{"/proc/self/oom_score_adj"} >> own;
  std::ifstream{"/proc/" + std::to_string(child.pid()) + "/oom_score_adj"} >> its;
  EXPECT_EQ(its, std::min(own + 500, 1000));
}

TEST(Spawn, EndsTheChildWithItsThread) {
  test::Pipe pipe = test::create_pipe();
  pid_t pid = 0;
  std::thread{[&] {
    const SpawnRequest request = testcmd({"stay"}, std::move(pipe.write));
    pid = Spawner::spawn_here(request).value_or(0);
    (void)test::read_line(pipe.read.get());
  }}.join();
  int status = 0;
  ASSERT_TRUE(test::eventually([&] { return ::waitpid(pid, &status, WNOHANG) == pid; }));
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

CO_TEST(Spawner, StartsManyAtATimeOnItsThreads) {
  Spawner spawner{4};
  for (int i = 0; i < 100; ++i) {
    SpawnRequest request = testcmd({"exit", std::to_string(i)});
    request.tag = spawner.new_tag();
    const auto pid = co_await spawner.spawn(std::move(request));
    CO_ASSERT_TRUE(pid) << pid.error().message;
    int status = 0;
    ::waitpid(*pid, &status, 0);
    EXPECT_EQ(WEXITSTATUS(status), i);
  }
}

CO_TEST(Spawner, ReportsFailureFromItsThreads) {
  Spawner spawner{1};
  SpawnRequest request = testcmd({});
  request.argv = {"/no/such/program"};
  const auto pid = co_await spawner.spawn(std::move(request));
  CO_ASSERT_TRUE(!pid);
  EXPECT_EQ(pid.error().stage, "exec");
}

}  // namespace
}  // namespace skiff::sessions
