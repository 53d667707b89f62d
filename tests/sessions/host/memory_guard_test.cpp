#include "sessions/host/memory_guard.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include "base/async/blocking_pool.hpp"
#include "base/async/event.hpp"
#include "base/unique_fd.hpp"
#include "tests/support/child.hpp"
#include "tests/support/fake_root.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::sessions {
namespace {

using std::chrono::milliseconds;

using test::FakeRoot;

void version2(const FakeRoot& root, const std::string& group, const std::string& current, const std::string& max,
              const std::string& stat) {
  root.write("sys/fs/cgroup" + group + "/memory.current", current);
  root.write("sys/fs/cgroup" + group + "/memory.max", max);
  root.write("sys/fs/cgroup" + group + "/memory.stat", stat);
}

constexpr auto kMount2 = "30 25 0:26 / /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw,nsdelegate\n";

TEST(MemoryGauge, ReadsVersion2LessTheInactiveCache) {
  const FakeRoot root;
  root.write("proc/self/cgroup", "0::/\n");
  root.write("proc/self/mountinfo", std::string{"22 27 0:21 / /proc rw - proc proc rw\n"} + kMount2);
  version2(root, "", "900000\n", "1000000\n", "anon 5\nfile 6\ninactive_file 200000\nactive_file 1\n");
  const auto use = MemoryGauge{root.path}.read();
  ASSERT_TRUE(use);
  EXPECT_EQ(use->used, 700'000U);
  EXPECT_EQ(use->limit, 1'000'000U);
  EXPECT_DOUBLE_EQ(use->share(), 0.7);
}

TEST(MemoryGauge, TakesTheLevelNearestToItsLimit) {
  const FakeRoot root;
  root.write("proc/self/cgroup", "0::/pod/container\n");
  root.write("proc/self/mountinfo", kMount2);
  version2(root, "", "1", "max\n", "");
  version2(root, "/pod", "950", "1000", "inactive_file 0\n");
  version2(root, "/pod/container", "100", "max\n", "inactive_file 0\n");
  const auto use = MemoryGauge{root.path}.read();
  ASSERT_TRUE(use);
  EXPECT_EQ(use->used, 950U);
  EXPECT_EQ(use->limit, 1000U);
}

TEST(MemoryGauge, ReadsMaxAsNoLimit) {
  const FakeRoot root;
  root.write("proc/self/cgroup", "0::/\n");
  root.write("proc/self/mountinfo", kMount2);
  version2(root, "", "900", "max\n", "");
  const auto use = MemoryGauge{root.path}.read();
  ASSERT_TRUE(use);
  EXPECT_EQ(use->used, 900U);
  EXPECT_EQ(use->limit, 0U);
  EXPECT_DOUBLE_EQ(use->share(), 0.0);
}

TEST(MemoryGauge, ReadsVersion1WhereTheContainersPartOfTheHierarchyIsMounted) {
  const FakeRoot root;
  root.write("proc/self/cgroup", "9:cpu,cpuacct:/kube/pod1/c1\n4:memory:/kube/pod1/c1\n0::/kube/pod1/c1\n");
  root.write("proc/self/mountinfo",
             "35 31 0:31 /kube/pod1/c1 /sys/fs/cgroup/memory ro,relatime master:1 - cgroup cgroup rw,memory\n"
             "41 31 0:38 / /sys/fs/cgroup/unified ro,relatime - cgroup2 cgroup2 rw\n");
  root.write("sys/fs/cgroup/memory/memory.usage_in_bytes", "500\n");
  root.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "800\n");
  root.write("sys/fs/cgroup/memory/memory.stat", "inactive_file 1\ntotal_inactive_file 100\n");
  const auto use = MemoryGauge{root.path}.read();
  ASSERT_TRUE(use);
  EXPECT_EQ(use->used, 400U);
  EXPECT_EQ(use->limit, 800U);
}

TEST(MemoryGauge, ReadsVersion1sLargestNumberAsNoLimit) {
  const FakeRoot root;
  root.write("proc/self/cgroup", "4:memory:/\n");
  root.write("proc/self/mountinfo", "35 31 0:31 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
  root.write("sys/fs/cgroup/memory/memory.usage_in_bytes", "500\n");
  root.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(MemoryGauge{root.path}.read().value().limit, 0U);
}

TEST(MemoryGauge, CountsTheKernelsKills) {
  const FakeRoot root;
  root.write("proc/self/cgroup", "0::/\n");
  root.write("proc/self/mountinfo", kMount2);
  version2(root, "", "900", "max\n", "");
  EXPECT_FALSE(MemoryGauge{root.path}.oom_kills());
  root.write("sys/fs/cgroup/memory.events", "low 0\nhigh 0\nmax 31\noom 4\noom_kill 3\noom_group_kill 0\n");
  EXPECT_EQ(MemoryGauge{root.path}.oom_kills(), 3U);
}

TEST(MemoryGauge, ReturnsNothingWithoutAController) {
  const FakeRoot root;
  EXPECT_FALSE(MemoryGauge{root.path}.read());
  root.write("proc/self/cgroup", "0::/\n");
  root.write("proc/self/mountinfo", kMount2);
  root.write("sys/fs/cgroup/cgroup.procs", "");
  EXPECT_FALSE(MemoryGauge{root.path}.read());
}

TEST(MemoryGauge, WorksOnThisMachine) {
  const auto use = MemoryGauge{}.read();
  if (!use) GTEST_SKIP() << "no memory controller here";
  EXPECT_GT(use->used, static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)));
  EXPECT_LT(use->used, static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                           static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)));
}

TEST(MemoryGuard, LooksMoreOftenWhenLittleIsLeft) {
  const MemoryGuard::Options options;
  const std::uint64_t gib = std::uint64_t{1} << 30U;
  EXPECT_EQ(MemoryGuard::period({.used = 0, .limit = 64 * gib}, options), options.slowest);
  EXPECT_EQ(MemoryGuard::period({.used = 2 * gib, .limit = 2 * gib}, options), options.fastest);
  EXPECT_EQ(MemoryGuard::period({.used = 3 * gib, .limit = 2 * gib}, options), options.fastest);
  const auto half = MemoryGuard::period({.used = gib, .limit = 2 * gib}, options);
  const auto less = MemoryGuard::period({.used = gib * 3 / 2, .limit = 2 * gib}, options);
  EXPECT_GT(half, less);
  EXPECT_GE(less, options.fastest);
  // A writer of 2 GiB/s must not use up the free memory within one period.
  EXPECT_LT(half.count() * 2, 1000);
}

CO_TEST(MemoryGuard, CallsItsOwnerWhenTheBoundIsReached) {
  const FakeRoot root;
  root.write("proc/self/cgroup", "0::/\n");
  root.write("proc/self/mountinfo", kMount2);
  version2(root, "", "94", "100", "");
  Event changed{executor};
  BlockingPool looks{"test-looks", 1};
  std::vector<MemoryUse> calls;
  MemoryGuard guard{executor,
                    looks,
                    MemoryGauge{root.path},
                    {.slowest = milliseconds{1}, .fastest = milliseconds{1}},
                    [&](MemoryUse use) {
                      calls.push_back(use);
                      changed.notify_all();
                    }};
  guard.start();
  guard.start();
  for (int i = 0; i < 5; ++i) co_await test::pause(milliseconds{2});
  EXPECT_TRUE(calls.empty()) << "94 of 100 is below 95 percent";
  version2(root, "", "95", "100", "");
  while (calls.size() < 2) co_await changed.wait();
  EXPECT_EQ(calls.front().used, 95U);
  guard.stop();
  const auto seen = calls.size();
  for (int i = 0; i < 5; ++i) co_await test::pause(milliseconds{2});
  EXPECT_EQ(calls.size(), seen) << "stopped is stopped";
  guard.start();
  while (calls.size() == seen) co_await changed.wait();
}

CO_TEST(MemoryGuard, GoesOnAfterALookThatFoundNothing) {
  const FakeRoot root;
  root.write("proc/self/cgroup", "0::/\n");
  root.write("proc/self/mountinfo", kMount2);
  version2(root, "", "95", "100", "");
  Event changed{executor};
  BlockingPool looks{"test-looks", 1};
  int calls = 0;
  MemoryGuard guard{executor,
                    looks,
                    MemoryGauge{root.path},
                    {.slowest = milliseconds{1}, .fastest = milliseconds{1}},
                    [&](MemoryUse) {
                      ++calls;
                      changed.notify_all();
                    }};
  guard.start();
  while (calls == 0) co_await changed.wait();
  // As when no descriptor is free, or while the limit is changed.
  std::filesystem::remove(root.path / "sys/fs/cgroup/memory.current");
  for (int i = 0; i < 10; ++i) co_await test::pause(milliseconds{2});
  const int before = calls;
  version2(root, "", "95", "100", "");
  while (calls == before) co_await changed.wait();
}

CO_TEST(MemoryGuard, MayBeStoppedFromItsOwnCall) {
  const FakeRoot root;
  root.write("proc/self/cgroup", "0::/\n");
  root.write("proc/self/mountinfo", kMount2);
  version2(root, "", "100", "100", "");
  Event changed{executor};
  int calls = 0;
  BlockingPool looks{"test-looks", 1};
  std::optional<MemoryGuard> guard;
  guard.emplace(executor, looks, MemoryGauge{root.path}, MemoryGuard::Options{.fastest = milliseconds{1}},
                [&](MemoryUse) {
                  ++calls;
                  guard->stop();
                  changed.notify_all();
                });
  guard->start();
  while (calls == 0) co_await changed.wait();
  EXPECT_EQ(calls, 1);
}

CO_TEST(MemoryGuard, DoesNotBlockTheReactorWhileTheKernelIsSlow) {
  const FakeRoot root;
  root.write("proc/self/cgroup", "0::/\n");
  root.write("proc/self/mountinfo", kMount2);
  version2(root, "", "1", "100", "");
  // A reader of this pipe blocks until there is a writer.
  const auto file = root.path / "sys/fs/cgroup/memory.current";
  std::filesystem::remove(file);
  CO_ASSERT_TRUE(::mkfifo(file.c_str(), 0600) == 0);
  Event changed{executor};
  std::optional<MemoryUse> seen;
  BlockingPool looks{"test-looks", 1};
  std::optional<MemoryGuard> guard;
  guard.emplace(executor, looks, MemoryGauge{root.path}, MemoryGuard::Options{}, [&](MemoryUse use) {
    seen = use;
    guard->stop();
    changed.notify_all();
  });
  guard->start();
  UniqueFd writer;
  while (!writer) {
    co_await test::pause(milliseconds{1});
    writer.reset(::open(file.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));  // ENXIO until the guard reads it
  }
  CO_ASSERT_TRUE(::write(writer.get(), "99\n", 3) == 3);
  writer.reset();
  while (!seen) co_await changed.wait();
  EXPECT_EQ(seen->used, 99U);
}

CO_TEST(MemoryGuard, StopsWithoutALimit) {
  const FakeRoot root;
  BlockingPool looks{"test-looks", 1};
  MemoryGuard guard{executor, looks, MemoryGauge{root.path}, {}, [](MemoryUse) { ADD_FAILURE(); }};
  // The harness checks after the test that nothing is left on the reactor.
  guard.start();
  co_return;
}

TEST(MemoryOfEach, SumsTheResidentMemoryOfATree) {
  test::Pipe pipe = test::create_pipe();
  SpawnRequest request = test::testcmd({"stay"}, std::move(pipe.write));
  request.tag = TagSource{}.next();
  const Tag tag = request.tag;
  const test::Child child{std::move(request)};
  (void)test::read_line(pipe.read.get());
  const auto used = memory_of_each({tag, TagSource{}.next()});
  ASSERT_EQ(used.size(), 2U);
  EXPECT_GT(used[0], 4096U);
  EXPECT_EQ(used[1], 0U);
}

}  // namespace
}  // namespace skiff::sessions
