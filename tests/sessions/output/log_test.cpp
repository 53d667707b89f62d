#include "sessions/output/log.hpp"

#include <array>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/async/task_group.hpp"
#include "tests/support/output_test.hpp"

namespace skiff::sessions {
namespace {

using test::kKiB;
using test::kMiB;
using test::Logs;
using test::pattern;
using test::take;
using test::write;
using Kind = LogItem::Kind;

/// Sets `*done` when the producer may go on.
Task<> wait_for_room(std::shared_ptr<OutputLog> log, bool* done) {
  co_await log->room();
  *done = true;
}

CO_TEST(OutputLog, GivesALateReaderEverythingThatIsKept) {
  Logs logs{executor};
  const auto log = logs.make();
  write(*log, Stream::out, "hello ");
  write(*log, Stream::err, "oops");
  log->exit({});
  write(*log, Stream::out, "still here", true);
  log->end();
  Cursor cursor{log, {}};
  EXPECT_EQ(co_await test::transcript(&cursor),
            (std::vector<std::string>{"out 0 hello ", "err 6 oops", "exit 10", "out late 10 still here", "end 20"}));
  EXPECT_EQ(log->bytes_of(Stream::out), 16U);
  EXPECT_EQ(log->bytes_of(Stream::err), 4U);
  EXPECT_EQ(log->next_offset(), 20U);
  EXPECT_TRUE(log->ended());
}

CO_TEST(OutputLog, WithoutOutputHoldsNoMemory) {
  Logs logs{executor};
  std::vector<std::shared_ptr<OutputLog>> quiet;
  for (int i = 0; i < 100; ++i) quiet.push_back(logs.make());
  const auto room = quiet.front()->prepare();
  for (const auto& log : quiet) EXPECT_EQ(log->prepare().data(), room.data()) << "quiet logs share their room";
  EXPECT_EQ(logs.budget.memory_used(), 0U);
  write(*quiet.front(), Stream::out, "x");
  EXPECT_LE(logs.budget.memory_used(), 4 * kKiB);
  quiet.clear();
  EXPECT_EQ(logs.budget.memory_used(), 0U);
  co_return;
}

CO_TEST(OutputLog, KeepsTheHeadAndTheNewestBytesToTheByte) {
  Logs logs{executor};
  for (const std::size_t keep : {128 * kKiB, 1000 * kKiB, 4 * kMiB}) {
    const auto log = logs.make(keep);
    const std::string bytes = pattern(keep * 3 + 12'345);
    write(*log, Stream::out, bytes);
    log->exit({});
    log->end();
    EXPECT_FALSE(log->must_wait());
    EXPECT_EQ(log->first_kept(), 0U);
    Cursor cursor{log, {}};
    std::string got;
    std::vector<std::uint64_t> gap;
    while (!cursor.finished()) {
      const LogItem item = co_await take(&cursor);
      if (item.kind == Kind::gap) gap = {item.offset, item.next};
      got += item.bytes.view();
    }
    const std::uint64_t tail = bytes.size() - (keep - OutputLog::kHeadBytes);
    EXPECT_EQ(gap, (std::vector<std::uint64_t>{OutputLog::kHeadBytes, tail}));
    EXPECT_TRUE(got == bytes.substr(0, OutputLog::kHeadBytes) + bytes.substr(tail));
    EXPECT_LE(logs.budget.memory_used(), keep + 3 * 256 * kKiB);
  }
  EXPECT_EQ(logs.budget.memory_used(), 0U);
}

CO_TEST(OutputLog, BoundsTheMemoryOfCountlessTinyRecords) {
  Logs logs{executor};
  const auto log = logs.make(1 * kMiB);
  // Write single bytes to alternating streams, so that no two share a record.
  for (int i = 0; i < 2'000'000; ++i) write(*log, i % 2 == 0 ? Stream::out : Stream::err, "x");
  EXPECT_LE(logs.budget.memory_used(), 2 * kMiB);
  Cursor cursor{log, {.from = log->next_offset() - 10, .only = {}, .lossless = false}};
  for (int i = 0; i < 10; ++i) EXPECT_EQ((co_await take(&cursor)).bytes.view(), "x");
}

CO_TEST(OutputLog, CoalescesShortLinesThatComeTogether) {
  Logs logs{executor};
  const auto log = logs.make();
  std::string all;
  for (int i = 0; i < 100'000; ++i) {
    const std::string line = std::to_string(i) + "\n";
    write(*log, Stream::out, line);
    all += line;
  }
  log->exit({});
  log->end();
  Cursor cursor{log, {}};
  std::string got;
  std::size_t items = 0;
  while (!cursor.finished()) {
    const LogItem item = co_await take(&cursor);
    EXPECT_LE(item.bytes.size(), 64 * kKiB);
    got += item.bytes.view();
    ++items;
  }
  EXPECT_TRUE(got == all);
  EXPECT_LT(items, 10'000U) << "a record a line";
}

CO_TEST(OutputLog, HashesEachStream) {
  Logs logs{executor};
  const auto log = logs.make(8 * kMiB, Overflow::automatic, true);
  write(*log, Stream::out, "a");
  write(*log, Stream::err, "oops");
  write(*log, Stream::out, "bc");
  log->exit({});
  log->end();
  const OutputTotals totals = log->totals();
  EXPECT_EQ(totals.out, 3U);
  EXPECT_EQ(totals.err, 4U);
  EXPECT_EQ(totals.out_sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(totals.err_sha256, "d13f2eadd4ed5b027fa773a29520cc0d65ce374365d641112de786f8a029c2fe");
  EXPECT_EQ(logs.make()->totals().out_sha256, "");

  // The digest does not depend on the pieces: 1,000,000 times "a" (FIPS 180-2).
  const auto large = logs.make(2 * kMiB, Overflow::automatic, true);
  write(*large, Stream::err, std::string(1'000'000, 'a'));
  EXPECT_EQ(large->totals().err_sha256, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  co_return;
}

CO_TEST(OutputLog, WaitsForALosslessReaderAndGoesOnAsItReads) {
  Logs logs{executor};
  const auto log = logs.make(128 * kKiB);
  Cursor reader{log, {.from = 0, .only = {}, .lossless = true}};
  TaskGroup tasks{executor};
  const std::string bytes = pattern(2 * kMiB);
  std::string got;
  std::size_t given = 0;
  int waits = 0;
  while (got.size() < bytes.size()) {
    while (given < bytes.size() && !log->must_wait()) {
      const std::size_t part = std::min<std::size_t>(10'000, bytes.size() - given);
      write(*log, Stream::out, std::string_view{bytes}.substr(given, part));
      given += part;
    }
    EXPECT_LE(given - got.size(), 128 * kKiB + 10'000);
    bool room = false;
    if (log->must_wait()) {
      ++waits;
      tasks.spawn("room", wait_for_room(log, &room));
      EXPECT_FALSE(room);
    } else {
      room = true;
    }
    const LogItem item = co_await take(&reader, 30'000);
    EXPECT_EQ(item.kind, Kind::output) << "nothing may be lost";
    got += item.bytes.view();
    if (!log->must_wait()) {
      co_await tasks.join();
      EXPECT_TRUE(room);
    } else {
      tasks.cancel();
      co_await tasks.join();
    }
  }
  EXPECT_TRUE(got == bytes);
  EXPECT_GT(waits, 10);
}

CO_TEST(OutputLog, LetsTheProducerGoOnWhenALosslessReaderLeaves) {
  Logs logs{executor};
  const auto log = logs.make(128 * kKiB);
  auto reader = std::make_unique<Cursor>(log, Cursor::Options{.from = 0, .only = {}, .lossless = true});
  write(*log, Stream::out, pattern(128 * kKiB));
  EXPECT_TRUE(log->must_wait());
  TaskGroup tasks{executor};
  bool room = false;
  tasks.spawn("room", wait_for_room(log, &room));
  EXPECT_FALSE(room);
  reader.reset();
  co_await tasks.join();
  EXPECT_TRUE(room);
  write(*log, Stream::out, pattern(kMiB));
  EXPECT_FALSE(log->must_wait());
}

CO_TEST(OutputLog, TakesTheRightFromALosslessReaderThatReadsNothing) {
  Logs logs{executor, {.memory_bytes = kMiB, .spool = {}, .lossless_patience = std::chrono::milliseconds{20}}};
  const auto log = logs.make(128 * kKiB);
  Cursor slow{log, {.from = 0, .only = {}, .lossless = true}};
  write(*log, Stream::out, pattern(128 * kKiB));
  CO_ASSERT_TRUE(log->must_wait());
  const auto before = std::chrono::steady_clock::now();
  co_await log->room();
  EXPECT_GE(std::chrono::steady_clock::now() - before, std::chrono::milliseconds{20});
  EXPECT_FALSE(log->must_wait());
  write(*log, Stream::out, pattern(kMiB));
  EXPECT_FALSE(log->must_wait());
  const LogItem head = co_await take(&slow, kMiB);
  EXPECT_EQ(head.kind, Kind::output) << "what it has not read of the head is still there";
  while (slow.offset() < OutputLog::kHeadBytes) (void)co_await take(&slow);
  EXPECT_EQ((co_await take(&slow)).kind, Kind::gap) << "it is told that bytes are missing";
}

CO_TEST(OutputLog, LeavesTheRightToAReaderThatReadsLittle) {
  constexpr std::chrono::milliseconds kPatience{100 * SKIFF_TEST_SLOWDOWN};
  Logs logs{executor, {.memory_bytes = kMiB, .spool = {}, .lossless_patience = kPatience}};
  const auto log = logs.make(128 * kKiB);
  Cursor reader{log, {.from = 0, .only = {}, .lossless = true}};
  write(*log, Stream::out, pattern(128 * kKiB + 1000));
  TaskGroup tasks{executor};
  bool room = false;
  tasks.spawn("room", wait_for_room(log, &room));
  // Read a byte at a time, for three times the patience.
  const auto until = std::chrono::steady_clock::now() + 3 * kPatience;
  while (std::chrono::steady_clock::now() < until) {
    co_await test::pause(std::chrono::milliseconds{5});
    EXPECT_TRUE(reader.next(1));
  }
  EXPECT_FALSE(room);
  EXPECT_TRUE(log->must_wait());
  while (log->must_wait()) (void)co_await take(&reader);
  co_await tasks.join();
  EXPECT_TRUE(room);
}

CO_TEST(OutputLog, RunsThePatienceThoughOneOfTwoPumpsGaveUp) {
  constexpr std::chrono::milliseconds kPatience{100 * SKIFF_TEST_SLOWDOWN};
  Logs logs{executor, {.memory_bytes = kMiB, .spool = {}, .lossless_patience = kPatience}};
  const auto log = logs.make(128 * kKiB);
  Cursor reader{log, {.from = 0, .only = {}, .lossless = true}};
  write(*log, Stream::out, pattern(128 * kKiB + 1000));
  TaskGroup first{executor};
  TaskGroup second{executor};
  bool room = false;
  bool other_room = false;
  first.spawn("room", wait_for_room(log, &other_room));
  second.spawn("room", wait_for_room(log, &room));
  first.cancel();
  co_await first.join();
  const auto until = std::chrono::steady_clock::now() + 3 * kPatience;
  while (std::chrono::steady_clock::now() < until) {
    co_await test::pause(std::chrono::milliseconds{5});
    EXPECT_TRUE(reader.next(1));
  }
  EXPECT_FALSE(room) << "it reads: it has not lost its right";
  while (log->must_wait()) (void)co_await take(&reader);
  co_await second.join();
  EXPECT_TRUE(room);
  EXPECT_FALSE(other_room);
}

CO_TEST(OutputLog, NeverWaitsForAReaderThatIsNotLossless) {
  Logs logs{executor};
  const auto log = logs.make(128 * kKiB);
  Cursor idle{log, {}};
  write(*log, Stream::out, pattern(kMiB));
  EXPECT_FALSE(log->must_wait());
  co_return;
}

CO_TEST(OutputLog, DropNeverWaitsNotEvenForALosslessReader) {
  Logs logs{executor};
  const auto log = logs.make(128 * kKiB, Overflow::drop);
  Cursor reader{log, {.from = 0, .only = {}, .lossless = true}};
  write(*log, Stream::out, pattern(kMiB));
  EXPECT_FALSE(log->must_wait());
  EXPECT_LE(logs.budget.memory_used(), 256 * kKiB);
  co_return;
}

CO_TEST(OutputLog, BlockWaitsUntilAReaderComesAndBetweenTwoReaders) {
  Logs logs{executor, {.memory_bytes = kMiB, .spool = {}, .lossless_patience = std::chrono::milliseconds{1}}};
  const auto log = logs.make(128 * kKiB, Overflow::block);
  const std::string bytes = pattern(400 * kKiB);
  write(*log, Stream::out, std::string_view{bytes}.substr(0, 127 * kKiB));
  EXPECT_FALSE(log->must_wait());
  write(*log, Stream::out, std::string_view{bytes}.substr(127 * kKiB, kKiB));
  EXPECT_TRUE(log->must_wait());
  TaskGroup tasks{executor};
  bool room = false;
  tasks.spawn("room", wait_for_room(log, &room));

  std::string got;
  auto reader = std::make_unique<Cursor>(log, Cursor::Options{.from = 0, .only = {}, .lossless = true});
  while (got.size() < 100 * kKiB) got += (co_await take(reader.get(), 10'000)).bytes.view();
  co_await tasks.join();
  EXPECT_TRUE(room);
  // The reader leaves, and the log keeps what the next one will read.
  const std::uint64_t place = reader->offset();
  reader.reset();
  std::size_t given = 128 * kKiB;
  while (!log->must_wait()) {
    write(*log, Stream::out, std::string_view{bytes}.substr(given, 1000));
    given += 1000;
  }
  EXPECT_GE(given - place, 128 * kKiB);
  reader = std::make_unique<Cursor>(log, Cursor::Options{.from = place, .only = {}, .lossless = true});
  while (got.size() < given) {
    const LogItem item = co_await take(reader.get());
    EXPECT_EQ(item.kind, Kind::output);
    got += item.bytes.view();
  }
  EXPECT_TRUE(got == bytes.substr(0, given));
}

CO_TEST(OutputLog, OverflowsUnderKillWhenTooMuchIsUnread) {
  Logs logs{executor};
  const auto log = logs.make(128 * kKiB, Overflow::kill);
  write(*log, Stream::out, pattern(128 * kKiB));
  EXPECT_FALSE(log->overflowed());
  EXPECT_FALSE(log->must_wait());
  write(*log, Stream::out, "x");
  EXPECT_TRUE(log->overflowed());
  EXPECT_FALSE(log->must_wait());

  const auto read = logs.make(128 * kKiB, Overflow::kill);
  auto reader = std::make_unique<Cursor>(read, Cursor::Options{.from = 0, .only = {}, .lossless = true});
  for (int i = 0; i < 10; ++i) {
    write(*read, Stream::out, pattern(100 * kKiB));
    while (reader->offset() < read->next_offset()) (void)co_await take(reader.get());
  }
  EXPECT_FALSE(read->overflowed()) << "a lossless reader drains it";
  write(*read, Stream::out, pattern(128 * kKiB));
  EXPECT_TRUE(read->must_wait());
  reader.reset();
  EXPECT_FALSE(read->must_wait());
  write(*read, Stream::out, "x");
  EXPECT_TRUE(read->overflowed());
}

CO_TEST(OutputLog, StopWaitingLetsTheLastBytesDrain) {
  Logs logs{executor};
  for (const Overflow overflow : {Overflow::automatic, Overflow::block}) {
    const auto log = logs.make(128 * kKiB, overflow);
    Cursor reader{log, {.from = 0, .only = {}, .lossless = true}};
    write(*log, Stream::out, pattern(128 * kKiB));
    TaskGroup tasks{executor};
    bool room = false;
    tasks.spawn("room", wait_for_room(log, &room));
    EXPECT_FALSE(room);
    log->stop_waiting();
    co_await tasks.join();
    EXPECT_TRUE(room);
    write(*log, Stream::out, pattern(kMiB));
    EXPECT_FALSE(log->must_wait());
  }
}

CO_TEST(OutputLog, EvictsEndedLogsFirstAndThenTheLargest) {
  Logs logs{executor, {.memory_bytes = 8 * kMiB, .spool = {}}};
  const std::string bytes = pattern(3 * kMiB);
  const auto kept_of = [](const std::shared_ptr<OutputLog>& log) {
    Cursor cursor{log, {}};
    std::uint64_t kept = 0;
    while (const auto item = cursor.next(kMiB)) kept += item->bytes.size();
    return kept;
  };
  const auto ended = logs.make();
  write(*ended, Stream::out, bytes);
  ended->exit({});
  ended->end();
  const auto first = logs.make();
  write(*first, Stream::out, bytes);
  EXPECT_EQ(kept_of(ended), 3 * kMiB);
  const auto second = logs.make();
  write(*second, Stream::out, bytes);
  write(*second, Stream::out, bytes);
  EXPECT_LE(logs.budget.memory_used(), 8 * kMiB + 256 * kKiB);
  EXPECT_EQ(kept_of(ended), OutputLog::kHeadBytes) << "what has ended keeps its head only";
  EXPECT_GE(kept_of(first), 2 * kMiB);
  EXPECT_GE(kept_of(second), 3 * kMiB);
  // With many logs the heads of ended ones are evicted, too.
  std::vector<std::shared_ptr<OutputLog>> heads;
  for (int i = 0; i < 200; ++i) {
    heads.push_back(logs.make());
    write(*heads.back(), Stream::out, std::string_view{bytes}.substr(0, 60 * kKiB));
    heads.back()->exit({});
    heads.back()->end();
  }
  EXPECT_LE(logs.budget.memory_used(), 8 * kMiB + 256 * kKiB);
  EXPECT_EQ(kept_of(heads.front()), 0U);
  EXPECT_EQ(kept_of(heads.back()), 60 * kKiB);
  heads.clear();
  co_return;
}

CO_TEST(OutputLog, MakesLosslessProducersWaitWhenTheBudgetIsFull) {
  Logs logs{executor, {.memory_bytes = 2 * kMiB, .spool = {}}};
  const auto log = logs.make();
  const auto other = logs.make();
  Cursor reader{log, {.from = 0, .only = {}, .lossless = true}};
  Cursor other_reader{other, {.from = 0, .only = {}, .lossless = true}};
  const std::string bytes = pattern(8 * kMiB);
  const auto fill = [&](OutputLog& to) {
    while (!to.must_wait() && to.next_offset() < bytes.size())
      write(to, Stream::out, std::string_view{bytes}.substr(to.next_offset(), 64 * kKiB));
  };
  fill(*other);
  EXPECT_LT(other->next_offset(), 3 * kMiB) << "far below keep_bytes: the budget made it wait";
  write(*log, Stream::out, std::string_view{bytes}.substr(0, 64 * kKiB));
  EXPECT_TRUE(log->must_wait());
  EXPECT_LE(logs.budget.memory_used(), 3 * kMiB);

  TaskGroup tasks{executor};
  bool room = false;
  tasks.spawn("room", wait_for_room(log, &room));
  while (other_reader.offset() < other->next_offset()) (void)co_await take(&other_reader);
  co_await tasks.join();
  EXPECT_TRUE(room) << "memory that another log's reader set free lets this one go on";
  std::string got;
  while (got.size() < bytes.size()) {
    fill(*log);
    const LogItem item = co_await take(&reader);
    EXPECT_EQ(item.kind, Kind::output);
    got += item.bytes.view();
  }
  EXPECT_TRUE(got == bytes.substr(0, got.size()));
}

CO_TEST(OutputLog, ASliceOutlivesTheLogAndItsBudget) {
  Slice slice;
  const std::string bytes = pattern(300 * kKiB);
  {
    Logs logs{executor};
    auto log = logs.make();
    write(*log, Stream::out, bytes);
    Cursor cursor{log, {.from = 200 * kKiB, .only = {}, .lossless = false}};
    slice = cursor.next(kMiB)->bytes;
  }
  EXPECT_TRUE(slice.view() == std::string_view{bytes}.substr(200 * kKiB, slice.size()));
  EXPECT_GT(slice.size(), 0U);
  co_return;
}

Task<> wait_for_exit(std::shared_ptr<OutputLog> log, int* wakes) {
  co_await log->exited();
  ++*wakes;
}

CO_TEST(OutputLog, ExitedEndsAtTheExitAndChangedAtAnyChange) {
  Logs logs{executor};
  const auto log = logs.make();
  TaskGroup tasks{executor};
  int wakes = 0;
  tasks.spawn("exit", wait_for_exit(log, &wakes));
  {
    Cursor cursor{log, {}};
    auto change = log->changed();
    write(*log, Stream::out, "x");  // before it is awaited: not a change since then
    TaskGroup writer{executor};
    writer.spawn("write", [](std::shared_ptr<OutputLog> to) -> Task<> {
      co_await boost::asio::post(co_await boost::asio::this_coro::executor, use_task);
      write(*to, Stream::out, "y");
    }(log));
    co_await std::move(change);
    co_await writer.join();
  }
  EXPECT_EQ(wakes, 0);
  ExitStatus status;
  status.exit_code = 3;
  log->exit(status);
  co_await tasks.join();
  EXPECT_EQ(wakes, 1);
  co_await log->exited();
  EXPECT_EQ(log->exit_status()->exit_code, 3);
}

}  // namespace
}  // namespace skiff::sessions
