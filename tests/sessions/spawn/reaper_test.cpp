#include "sessions/spawn/reaper.hpp"

#include <memory>
#include <optional>

#include <boost/asio/post.hpp>

#include "base/async/event.hpp"
#include "base/async/task_group.hpp"
#include "tests/support/child.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::sessions {
namespace {

using test::testcmd;

/// Waits until a child is a zombie, without reaping it.
void wait_for_zombie(pid_t pid) {
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT), 0);
}

bool is_child(pid_t pid) {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT | WNOHANG) == 0;
}

CO_TEST(Reaper, CallsTheOwnerWithTheExitStatus) {
  Reaper reaper{executor};
  Event changed{executor};
  std::vector<Reaped> ends;
  for (const auto& words : {std::vector<std::string>{"exit", "42"}, std::vector<std::string>{"signal", "9"}}) {
    SpawnRequest request = testcmd(words);
    request.announced = reaper.begin_spawn();
    const auto pid = Spawner::spawn_here(request);
    CO_ASSERT_TRUE(pid) << pid.error().message;
    EXPECT_EQ(request.announced->load(), *pid);
    reaper.conclude_spawn(request.announced, *pid, [&](const Reaped& reaped) {
      ends.push_back(reaped);
      changed.notify_all();
    });
    const std::size_t before = ends.size();
    while (ends.size() == before) co_await changed.wait();
    EXPECT_EQ(ends.back().pid, *pid);
    EXPECT_FALSE(is_child(*pid));
  }
  EXPECT_TRUE(WIFEXITED(ends[0].status) && WEXITSTATUS(ends[0].status) == 42);
  EXPECT_TRUE(WIFSIGNALED(ends[1].status) && WTERMSIG(ends[1].status) == 9);
  EXPECT_GT(ends[0].usage.ru_maxrss, 0);
}

CO_TEST(Reaper, MarksTheLeadersPidAsFree) {
  Reaper reaper{executor};
  Event changed{executor};
  const auto leader = std::make_shared<Leader>();
  SpawnRequest request = testcmd({"exit", "0"});
  request.announced = reaper.begin_spawn();
  const auto pid = Spawner::spawn_here(request);
  CO_ASSERT_TRUE(pid);
  bool ended = false;
  const auto tell = [&](const Reaped&) {
    EXPECT_TRUE(leader->reaped()) << "before its owner is told";
    ended = true;
    changed.notify_all();
  };
  reaper.conclude_spawn(request.announced, *pid, tell, leader);
  EXPECT_EQ(leader->pid, *pid);
  EXPECT_EQ(leader->number, Leader::Number::its_own);
  while (!ended) co_await changed.wait();
}

CO_TEST(Reaper, LeavesAZombieUntilItsSpawnIsConcluded) {
  Reaper reaper{executor};
  Event changed{executor};
  SpawnRequest request = testcmd({"exit", "7"});
  request.announced = reaper.begin_spawn();
  const auto pid = Spawner::spawn_here(request);
  CO_ASSERT_TRUE(pid);
  wait_for_zombie(*pid);
  // The signal is pending; give the reaper the turns in which a wrong one would reap the zombie.
  for (int i = 0; i < 5; ++i) co_await test::pause(std::chrono::milliseconds{2});
  EXPECT_TRUE(is_child(*pid));

  std::optional<Reaped> end;
  reaper.conclude_spawn(request.announced, *pid, [&](const Reaped& reaped) {
    end = reaped;
    changed.notify_all();
  });
  EXPECT_FALSE(end) << "never from inside the call";
  while (!end) co_await changed.wait();
  EXPECT_EQ(WEXITSTATUS(end->status), 7);
}

CO_TEST(Reaper, ReapsAnUnannouncedChildDuringASpawn) {
  Reaper reaper{executor};
  const auto under_way = reaper.begin_spawn();
  const auto before = reaper.orphans_reaped();
  const auto stranger = Spawner::spawn_here(testcmd({"exit", "0"}));
  CO_ASSERT_TRUE(stranger);
  while (reaper.orphans_reaped() == before) co_await boost::asio::post(executor, use_task);
  reaper.conclude_spawn(under_way);
}

CO_TEST(Reaper, ReapsTheChildOfAFailedSpawn) {
  Reaper reaper{executor};
  SpawnRequest request = testcmd({});
  request.argv = {"/no/such/program"};
  request.announced = reaper.begin_spawn();
  CO_ASSERT_TRUE(!Spawner::spawn_here(request));
  const pid_t pid = request.announced->load();
  EXPECT_GT(pid, 0);
  reaper.conclude_spawn(request.announced);
  while (is_child(pid)) co_await boost::asio::post(executor, use_task);
}

CO_TEST(Reaper, ReapsTheProcessesOfADoubleFork) {
  Reaper reaper{executor};
  Event changed{executor};
  const auto before = reaper.orphans_reaped();
  SpawnRequest request = testcmd({"orphan", "3"});
  request.announced = reaper.begin_spawn();
  const auto pid = Spawner::spawn_here(request);
  CO_ASSERT_TRUE(pid);
  std::optional<Reaped> end;
  reaper.conclude_spawn(request.announced, *pid, [&](const Reaped& reaped) { end = reaped; });
  while (!end || reaper.orphans_reaped() < before + 2) co_await boost::asio::post(executor, use_task);
  EXPECT_EQ(WEXITSTATUS(end->status), 3);
}

/// One of many owners, which runs commands one after the other; every tenth cannot be started.
struct Storm {
  Executor executor;
  Spawner& spawner;
  Reaper& reaper;
  Event changed;
  int total;
  int started = 0;
  int right = 0;
  int failed = 0;
  int left_orphans = 0;
};

Task<> run_commands(Storm& storm) {
  while (storm.started < storm.total) {
    const int number = storm.started++;
    const bool missing = number % 10 == 9;
    const bool orphan = number % 4 == 0;
    const int code = number % 251;
    SpawnRequest request = testcmd({orphan ? "orphan" : "exit", std::to_string(code)});
    if (missing) request.argv = {"/no/such/program"};
    request.tag = storm.spawner.new_tag();
    const AnnouncedSpawn announced = storm.reaper.begin_spawn();
    request.announced = announced;
    const auto pid = co_await storm.spawner.spawn(std::move(request));
    if (missing) {
      EXPECT_FALSE(pid);
      storm.reaper.conclude_spawn(announced);
      ++storm.failed;
      continue;
    }
    CO_ASSERT_TRUE(pid) << pid.error().message;
    if (orphan) storm.left_orphans += 2;
    std::optional<Reaped> end;
    storm.reaper.conclude_spawn(announced, *pid, [&](const Reaped& reaped) {
      EXPECT_FALSE(end) << "told twice";
      end = reaped;
      storm.changed.notify_all();
    });
    while (!end) co_await storm.changed.wait();
    if (end->pid == *pid && WIFEXITED(end->status) && WEXITSTATUS(end->status) == code) ++storm.right;
  }
}

constexpr int kStorm = SKIFF_TEST_SLOWDOWN > 1 ? 2'000 : 4'000;

Task<> storm_of_orphans_and_spawns(Executor executor) {
  Spawner spawner{4};
  Reaper reaper{executor};
  const auto before = reaper.orphans_reaped();
  Storm storm{executor, spawner, reaper, Event{executor}, kStorm};
  TaskGroup tasks{executor};
  for (int i = 0; i < 48; ++i) tasks.spawn("commands", run_commands(storm));
  co_await tasks.join();
  EXPECT_EQ(storm.failed, kStorm / 10);
  EXPECT_EQ(storm.right, kStorm - kStorm / 10) << "every exit code must be the command's own";
  // Failed children are reaped as orphans, too.
  const auto expected = before + static_cast<std::uint64_t>(storm.left_orphans + storm.failed);
  while (reaper.orphans_reaped() < expected) co_await boost::asio::post(executor, use_task);
}

TEST(Reaper, GivesEveryOwnerItsExitCodeInAStormOfOrphansAndSpawns) {
  test::run_on_reactor(&storm_of_orphans_and_spawns, std::chrono::seconds{150});
}

TEST(ReaperDeathTest, RefusesASpawnWhoseAnnouncementWasForgotten) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        boost::asio::io_context io;
        Reaper reaper{io.get_executor()};
        const auto announced = reaper.begin_spawn();
        const auto pid = Spawner::spawn_here(testcmd({"exit", "0"}));
        reaper.conclude_spawn(announced, *pid, [](const Reaped&) {});
      },
      "announced");
}

}  // namespace
}  // namespace skiff::sessions
