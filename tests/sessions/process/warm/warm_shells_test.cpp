#include "sessions/process/warm/warm_shells.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "sessions/process/tag.hpp"
#include "tests/support/child.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/reactor_test.hpp"
#include "tests/support/temporary_directory.hpp"

namespace skiff::sessions {
namespace {

using namespace std::chrono_literals;
using test::make_pipe;
using test::read_all;
using test::TemporaryDirectory;

/// Everything that a pool needs, and one pool.
struct Pool {
  explicit Pool(Executor executor, WarmShells::Times times = {})
      : reaper{executor}, changed{executor}, warm{executor, spawner, reaper, 2, times} {}

  Spawner spawner{1};
  Reaper reaper;
  Event changed;
  WarmShells warm;
  std::optional<Reaped> ended;

  std::optional<pid_t> start(const SpawnRequest& request) {
    ended.reset();
    Reaper::Handler handler = [this](const Reaped& reaped) {
      ended = reaped;
      changed.notify_all();
    };
    return warm.start(request, handler);
  }
  Task<> stop() { return warm.close(); }
  Task<Reaped> end() {
    while (!ended) co_await changed.wait();
    co_return *ended;
  }
};

SpawnRequest line(std::string text, UniqueFd out = {}) {
  SpawnRequest request;
  request.argv = {"/bin/sh", "-c", std::move(text)};
  request.env = {"PATH=/usr/bin:/bin", "WHO=me"};
  request.cwd = "/usr";
  request.out = std::move(out);
  request.tag = 0x1234'0000'0042;
  request.shell = true;
  return request;
}

/// Children of this thread that wait, as ps(1) would show them.
std::vector<pid_t> waiting_children() {
  std::vector<pid_t> found;
  for (const auto& task : std::filesystem::directory_iterator{"/proc/self/task"}) {
    std::ifstream children{task.path() / "children"};
    for (pid_t pid = 0; children >> pid;) {
      std::ifstream name{"/proc/" + std::to_string(pid) + "/comm"};
      std::string text;
      if (std::getline(name, text) && text == "skiff-waits") found.push_back(pid);
    }
  }
  return found;
}

/// As in proc(5): S sleeps, T is stopped.
char state_of(pid_t pid) {
  std::ifstream file{"/proc/" + std::to_string(pid) + "/stat"};
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(')');
  return name_end + 2 < text.size() ? text[name_end + 2] : '?';
}

/// Asks until a shell has taken the request.
Task<pid_t> start_warm(Pool& pool, const SpawnRequest& request) {
  for (;;) {
    if (const auto pid = pool.start(request)) co_return *pid;
    // As often as clients ask, and less often than it takes to count as quiet.
    for (int i = 0; i < 10; ++i) co_await test::pause(1ms);
  }
}

/// Asks until the pool would have had a shell for it. False when it never gets one.
Task<bool> never_starts(Pool& pool, const SpawnRequest& request) {
  for (int i = 0; i < 40; ++i) {
    if (pool.start(request)) co_return false;
    for (int j = 0; j < 10; ++j) co_await test::pause(1ms);
  }
  // The last that was tried may still be on the way to its end.
  while (pool.warm.waiting() > 0) co_await test::pause(1ms);
  co_return true;
}

CO_TEST(WarmShells, TheFirstCommandStartsColdAndTheNextFindsShellsThatWait, Pool& pool) {
  EXPECT_FALSE(pool.start(line("true")));
  EXPECT_EQ(pool.warm.waiting(), 0U);
  while (pool.warm.waiting() < 2) co_await test::pause(1ms);
  const SpawnRequest request = line("exit 42");
  co_await start_warm(pool, request);
  const Reaped reaped = co_await pool.end();
  EXPECT_TRUE(WIFEXITED(reaped.status) && WEXITSTATUS(reaped.status) == 42);
}

CO_TEST(WarmShells, TheCommandFindsWhatItWouldHaveFoundCold) {
  const std::string asks =
      "printf '%s|' \"$0\" \"$WHO\" \"$PWD\" \"$LD_PRELOAD\"; ulimit -n; tr '\\0' '|' </proc/$$/cmdline; echo;"
      "tr '\\0' '|' </proc/$$/environ; echo; cat /proc/$$/comm; ls /proc/$$/fd; [ $$ = \"$(ps -o sid= $$ | tr -d ' "
      "')\" ]; echo $?";
  Pool pool{executor};
  std::string said[2];
  for (const bool warm : {false, true}) {
    auto pipe = make_pipe();
    SpawnRequest request = line(asks, std::move(pipe.write));
    request.limits = {{RLIMIT_NOFILE, {111, 222}}};
    if (warm) {
      co_await start_warm(pool, request);
    } else {
      request.announced = pool.reaper.begin_spawn();
      const auto pid = Spawner::spawn_here(request);
      CO_ASSERT_TRUE(pid);
      pool.reaper.conclude_spawn(request.announced, *pid, [](const Reaped&) {});
    }
    request = {};
    said[warm ? 1 : 0] = read_all(pipe.read.get());
  }
  co_await pool.end();
  EXPECT_EQ(said[0], said[1]);
  EXPECT_NE(said[0].find("/bin/sh|me|/usr||111\n"), std::string::npos) << said[0];
  EXPECT_NE(said[0].find("WHO=me"), std::string::npos) << said[0];
  co_await pool.warm.close();
}

CO_TEST(WarmShells, ALastCommandThatIsKilledIsTheLeader) {
  // bash replaces itself by it, as it does when it was not started ahead.
  Pool pool{executor};
  SpawnRequest request = line(std::string{"true && "} + test::kTestcmd + " signal 9");
  request.argv.front() = "/bin/bash";
  co_await start_warm(pool, request);
  const Reaped reaped = co_await pool.end();
  EXPECT_TRUE(WIFSIGNALED(reaped.status) && WTERMSIG(reaped.status) == 9);
  co_await pool.warm.close();
}

CO_TEST(WarmShells, ItsTagIsThereBeforeItsCommandIs, Pool& pool) {
  const SpawnRequest request = line("exec sleep 100");
  const pid_t pid = co_await start_warm(pool, request);
  const auto mark = mark_of(pid);
  CO_ASSERT_TRUE(mark);
  EXPECT_EQ(*mark, request.tag);
  ::kill(pid, SIGKILL);
  co_await pool.end();
}

CO_TEST(WarmShells, DescriptorsBesideTheFirstThreeArriveToo, Pool& pool) {
  auto pipe = make_pipe();
  auto input = make_pipe();
  auto extra = make_pipe();
  CO_ASSERT_TRUE(::write(input.write.get(), "in", 2) == 2 && ::write(extra.write.get(), "extra", 5) == 5);
  input.write.reset();
  extra.write.reset();
  SpawnRequest request = line("cat; cat <&7; ls -C /proc/$$/fd", std::move(pipe.write));
  request.in = std::move(input.read);
  request.extra.emplace_back(std::move(extra.read), 7);
  co_await start_warm(pool, request);
  request = {};
  EXPECT_EQ(read_all(pipe.read.get()), "inextra0  1  2  7\n");
  co_await pool.end();
}

CO_TEST(WarmShells, WhatAWaitingShellCanNotBecomeStartsCold, Pool& pool) {
  const SpawnRequest fits = line("true");
  EXPECT_FALSE(pool.start(fits));
  const auto refused = [&](auto change) -> bool {
    SpawnRequest request = line("true");
    change(request);
    return !pool.start(request);
  };
  while (pool.warm.waiting() < 2) co_await test::pause(1ms);
  EXPECT_TRUE(refused([](SpawnRequest& one) { one.shell = false; }));
  EXPECT_TRUE(refused([](SpawnRequest& one) { one.controlling_terminal = true; }));
  EXPECT_TRUE(refused([](SpawnRequest& one) { one.user = Credentials{}; }));
  EXPECT_TRUE(refused([](SpawnRequest& one) { one.cgroup = 0; }));
  EXPECT_TRUE(refused([](SpawnRequest& one) {
    rlimit own{};
    ::getrlimit(RLIMIT_NOFILE, &own);
    one.limits = {{RLIMIT_NOFILE, {own.rlim_cur, own.rlim_max + 1}}};
  }));
  EXPECT_TRUE(refused([](SpawnRequest& one) { one.env.add("LD_LIBRARY_PATH=/x"); }));
  EXPECT_TRUE(refused([](SpawnRequest& one) { one.env.add("GLIBC_TUNABLES=x"); }));
  EXPECT_TRUE(refused([](SpawnRequest& one) {
    for (int i = 0; i < 300; ++i) one.env.add("A=b");
  }));
  EXPECT_TRUE(refused([](SpawnRequest& one) { one.argv.back().resize(100'000, '#'); }));
  EXPECT_TRUE(refused([](SpawnRequest& one) { one.cwd = "/nope"; }));
  EXPECT_TRUE(refused([](SpawnRequest& one) { one.argv.front() = "/nope/sh"; }));
  EXPECT_TRUE(refused([](SpawnRequest& one) { one.argv.insert(one.argv.begin() + 1, "-l"); }));
  EXPECT_EQ(pool.warm.waiting(), 2U);
  co_await start_warm(pool, fits);
  co_await pool.end();
}

CO_TEST(WarmShells, AProgramThatDoesNotWaitIsTriedOnce, Pool& pool) {
  SpawnRequest request = line("exit 42");
  request.argv.front() = "/bin/busybox";  // static: nothing is preloaded
  const bool never = co_await never_starts(pool, request);
  EXPECT_TRUE(never);
}

CO_TEST(WarmShells, AShellThatWasReplacedMeanwhileIsNotUsed, Pool& pool) {
  const TemporaryDirectory directory;
  const auto shell = directory.path() / "sh";
  std::filesystem::create_symlink("/bin/dash", shell);
  auto pipe = make_pipe();
  SpawnRequest request = line("echo ${BASH_VERSION:+bash}", std::move(pipe.write));
  request.argv.front() = shell.string();
  EXPECT_FALSE(pool.start(request));
  while (pool.warm.waiting() < 2) co_await test::pause(1ms);
  std::filesystem::remove(shell);
  std::filesystem::create_symlink("/bin/bash", shell);
  EXPECT_FALSE(pool.start(request));
  co_await start_warm(pool, request);
  request = {};
  EXPECT_EQ(read_all(pipe.read.get()), "bash\n");
  co_await pool.end();
}

CO_TEST(WarmShells, OneThatWasKilledIsReplaced, Pool& pool) {
  const SpawnRequest request = line("true");
  const pid_t first = co_await start_warm(pool, request);
  co_await pool.end();
  EXPECT_GT(first, 0);
  while (pool.warm.waiting() < 2) co_await test::pause(1ms);
  while (pool.warm.waiting() > 0) {
    for (const pid_t pid : waiting_children()) ::kill(pid, SIGKILL);
    co_await test::pause(1ms);
  }
  co_await start_warm(pool, request);
  const Reaped reaped = co_await pool.end();
  EXPECT_TRUE(WIFEXITED(reaped.status));
}

CO_TEST(WarmShells, OneThatWasStoppedRunsItsCommand, Pool& pool) {
  EXPECT_FALSE(pool.start(line("true")));
  while (pool.warm.waiting() < 2 || waiting_children().size() < 2) co_await test::pause(1ms);
  for (const pid_t pid : waiting_children()) {
    ::kill(pid, SIGSTOP);
    while (state_of(pid) != 'T') co_await test::pause(1ms);
  }
  co_await start_warm(pool, line("exit 42"));
  const Reaped reaped = co_await pool.end();
  EXPECT_TRUE(WIFEXITED(reaped.status) && WEXITSTATUS(reaped.status) == 42);
}

CO_TEST(WarmShells, OneThatCanNotBeMarkedMakesRoomForAnother, Pool& pool) {
  EXPECT_FALSE(pool.start(line("true")));
  while (pool.warm.waiting() < 2 || waiting_children().size() < 2) co_await test::pause(1ms);
  // A hard limit can be lowered by every process of the user, and raised by CAP_SYS_RESOURCE alone.
  for (const pid_t pid : waiting_children()) {
    const rlimit low{1000, 1000};
    CO_ASSERT_TRUE(::prlimit(pid, RLIMIT_RTTIME, &low, nullptr) == 0);
  }
  co_await start_warm(pool, line("exit 42"));
  const Reaped reaped = co_await pool.end();
  EXPECT_TRUE(WIFEXITED(reaped.status) && WEXITSTATUS(reaped.status) == 42);
}

CO_TEST(WarmShells, OneThatCanNotBecomeItsCommandSaysWhy, Pool& pool) {
  rlimit own{};
  CO_ASSERT_TRUE(::getrlimit(RLIMIT_NOFILE, &own) == 0);
  SpawnRequest request = line("exit 126");
  request.extra.emplace_back(make_pipe().read, static_cast<int>(own.rlim_cur));  // the first number that is too high
  co_await start_warm(pool, request);
  const Reaped reaped = co_await pool.end();
  CO_ASSERT_TRUE(reaped.failure);
  EXPECT_EQ(reaped.failure->stage, "descriptors");
  EXPECT_EQ(reaped.failure->error, EBADF);
  EXPECT_NE(reaped.failure->message.find("pass descriptors"), std::string::npos) << reaped.failure->message;
  // The same status of a command is its own.
  co_await start_warm(pool, line("exit 126"));
  const Reaped own_end = co_await pool.end();
  EXPECT_TRUE(WIFEXITED(own_end.status) && WEXITSTATUS(own_end.status) == 126);
  EXPECT_FALSE(own_end.failure);
}

CO_TEST(WarmShells, TheyGoWhenNobodyAsks) {
  Pool pool{executor, {.quiet = 1ms, .idle = 50ms}};
  while (pool.warm.waiting() == 0) {
    EXPECT_FALSE(pool.start(line("true")));  // once more: a slow machine may let them go before the first is there
    co_await test::pause(20ms);
  }
  while (pool.warm.waiting() > 0) co_await test::pause(1ms);
  co_await pool.warm.close();
  EXPECT_TRUE(waiting_children().empty());
}

}  // namespace
}  // namespace skiff::sessions
