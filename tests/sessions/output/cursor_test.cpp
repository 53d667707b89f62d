#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/async/task_group.hpp"
#include "sessions/output/log.hpp"
#include "tests/support/output_test.hpp"

namespace skiff::sessions {
namespace {

using test::kKiB;
using test::kMiB;
using test::Logs;
using test::pattern;
using test::take;
using test::transcript;
using test::write;
using Kind = LogItem::Kind;
using Lines = std::vector<std::string>;

CO_TEST(Cursor, StartsInsideARecord) {
  Logs logs{executor};
  const auto log = logs.make();
  write(*log, Stream::out, "0123456789");
  write(*log, Stream::err, "abc");
  log->exit({});
  log->end();
  Cursor cursor{log, {.from = 7, .only = {}, .lossless = false}};
  EXPECT_EQ(co_await transcript(&cursor), (Lines{"out 7 789", "err 10 abc", "exit 13", "end 13"}));
  EXPECT_FALSE(cursor.next(1));
}

CO_TEST(Cursor, ReturnsAtMostTheRequestedBytes) {
  Logs logs{executor};
  const auto log = logs.make();
  write(*log, Stream::out, "0123456789");
  Cursor cursor{log, {}};
  EXPECT_EQ(cursor.next(4)->bytes.view(), "0123");
  EXPECT_EQ(cursor.offset(), 4U);
  EXPECT_EQ(cursor.next(100)->bytes.view(), "456789");
  EXPECT_FALSE(cursor.next(100));
  co_return;
}

CO_TEST(Cursor, FilteringLeavesHolesAndNoGaps) {
  Logs logs{executor};
  const auto log = logs.make();
  write(*log, Stream::out, "one");
  write(*log, Stream::err, "two");
  write(*log, Stream::out, "three");
  log->exit({});
  write(*log, Stream::err, "four", true);
  log->end();
  Cursor out{log, {.from = 0, .only = Stream::out, .lossless = false}};
  EXPECT_EQ(co_await transcript(&out), (Lines{"out 0 one", "out 6 three", "exit 11", "end 15"}));
  Cursor err{log, {.from = 4, .only = Stream::err, .lossless = false}};
  EXPECT_EQ(co_await transcript(&err), (Lines{"err 4 wo", "exit 11", "err late 11 four", "end 15"}));
}

CO_TEST(Cursor, ReportsGapsToAFilteredReader) {
  Logs logs{executor};
  const auto log = logs.make(128 * kKiB);
  write(*log, Stream::out, pattern(kMiB));
  Cursor err{log, {.from = 0, .only = Stream::err, .lossless = false}};
  const auto gap = err.next(1);
  CO_ASSERT_TRUE(gap);
  EXPECT_EQ(gap->kind, Kind::gap);
  EXPECT_EQ(gap->offset, OutputLog::kHeadBytes);
  EXPECT_EQ(gap->next, kMiB - 64 * kKiB);
  EXPECT_FALSE(err.next(1));
  co_return;
}

CO_TEST(Cursor, ReportsAGapAcrossTheExitInTwoParts) {
  Logs logs{executor};
  const auto log = logs.make(128 * kKiB);
  write(*log, Stream::out, pattern(100 * kKiB));
  log->exit({});
  write(*log, Stream::out, pattern(kMiB), true);
  log->end();
  Cursor cursor{log, {.from = OutputLog::kHeadBytes, .only = {}, .lossless = false}};
  const std::uint64_t exit_at = 100 * kKiB;
  const std::uint64_t tail = exit_at + kMiB - 64 * kKiB;
  EXPECT_EQ((co_await take(&cursor)).next, exit_at);
  EXPECT_EQ((co_await take(&cursor)).kind, Kind::exit);
  const LogItem gap = co_await take(&cursor);
  EXPECT_EQ(gap.kind, Kind::gap);
  EXPECT_EQ(gap.offset, exit_at);
  EXPECT_EQ(gap.next, tail);
  const LogItem late = co_await take(&cursor);
  EXPECT_EQ(late.kind, Kind::output);
  EXPECT_TRUE(late.late);
}

CO_TEST(Cursor, GetsExitAndEndOfALogWithoutOutput) {
  Logs logs{executor};
  const auto log = logs.make();
  Cursor cursor{log, {}};
  EXPECT_FALSE(cursor.next(1));
  log->exit({});
  EXPECT_EQ(cursor.next(1)->kind, Kind::exit);
  EXPECT_FALSE(cursor.next(1));
  EXPECT_FALSE(cursor.finished());
  log->end();
  EXPECT_EQ(cursor.next(1)->kind, Kind::end);
  EXPECT_TRUE(cursor.finished());
  co_return;
}

CO_TEST(Cursor, GetsTheExitWhenCreatedAfterIt) {
  Logs logs{executor};
  const auto log = logs.make();
  write(*log, Stream::out, "abc");
  log->exit({});
  write(*log, Stream::out, "def", true);
  log->end();
  Cursor cursor{log, {.from = 5, .only = {}, .lossless = false}};
  EXPECT_EQ(co_await transcript(&cursor), (Lines{"exit 5", "out late 5 f", "end 6"}));
}

Task<> read_to_the_end(Cursor* cursor, std::string* got) {
  while (!cursor->finished()) *got += (co_await take(cursor)).bytes.view();
}

CO_TEST(Cursor, WaitsAtAnOffsetBeyondTheLog) {
  Logs logs{executor};
  const auto log = logs.make();
  Cursor cursor{log, {.from = 8, .only = {}, .lossless = true}};
  EXPECT_FALSE(cursor.next(1));
  TaskGroup tasks{executor};
  std::string got;
  tasks.spawn("read", read_to_the_end(&cursor, &got));
  write(*log, Stream::out, "01234");
  EXPECT_FALSE(log->must_wait());
  write(*log, Stream::out, "56789");
  log->exit({});
  log->end();
  co_await tasks.join();
  EXPECT_EQ(got, "89");
}

CO_TEST(Cursor, GivesTheExactBytesWhenResumedFiftyTimes) {
  Logs logs{executor};
  const auto log = logs.make(8 * kMiB);
  const std::string bytes = pattern(5 * kMiB);
  std::mt19937_64 random{7};
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t part = std::min<std::size_t>(1 + random() % 200'000, bytes.size() - at);
    write(*log, random() % 2 == 0 ? Stream::out : Stream::err, std::string_view{bytes}.substr(at, part));
    at += part;
  }
  log->exit({});
  log->end();
  std::string got;
  std::uint64_t from = 0;
  for (int i = 0; i <= 50; ++i) {
    Cursor cursor{log, {.from = from, .only = {}, .lossless = false}};
    const std::uint64_t until =
        i == 50 ? bytes.size() : std::min<std::uint64_t>(from + random() % 200'000, bytes.size());
    while (from < until) {
      const LogItem item = co_await take(&cursor, 1 + random() % 70'000);
      EXPECT_EQ(item.offset, from);
      got += item.bytes.view();
      from = item.next;
    }
  }
  EXPECT_TRUE(got == bytes);
}

CO_TEST(Cursor, ServesAThousandReadersOfOneLog) {
  Logs logs{executor};
  const auto log = logs.make(kMiB);
  std::vector<Cursor> cursors;
  std::vector<std::string> got(1000);
  TaskGroup tasks{executor};
  for (std::size_t i = 0; i < got.size(); ++i) {
    cursors.emplace_back(log, Cursor::Options{.from = 0, .only = {}, .lossless = i % 2 == 0});
  }
  for (std::size_t i = 0; i < got.size(); ++i) tasks.spawn("read", read_to_the_end(&cursors[i], &got[i]));
  const std::string bytes = pattern(100 * kKiB);
  for (std::size_t at = 0; at < bytes.size(); at += kKiB) {
    EXPECT_FALSE(log->must_wait());
    write(*log, Stream::out, std::string_view{bytes}.substr(at, kKiB));
    co_await boost::asio::post(executor, use_task);
  }
  log->exit({});
  log->end();
  co_await tasks.join();
  for (const std::string& each : got) EXPECT_TRUE(each == bytes);
  EXPECT_LE(logs.budget.memory_used(), 256 * kKiB) << "readers have no copies";
}

CO_TEST(Cursor, IsCancelledWhileItWaits) {
  Logs logs{executor};
  const auto log = logs.make();
  Cursor cursor{log, {}};
  TaskGroup tasks{executor};
  std::string got;
  tasks.spawn("read", read_to_the_end(&cursor, &got));
  co_await boost::asio::post(executor, use_task);
  tasks.cancel();
  co_await tasks.join();
  write(*log, Stream::out, "x");
  EXPECT_EQ(cursor.next(1)->bytes.view(), "x");
}

CO_TEST(Cursor, KeepsItsOffsetAndItsRightWhenMoved) {
  Logs logs{executor};
  const auto log = logs.make(128 * kKiB);
  Cursor first{log, {.from = 0, .only = {}, .lossless = true}};
  write(*log, Stream::out, pattern(128 * kKiB));
  Cursor second{std::move(first)};
  EXPECT_TRUE(log->must_wait());
  (void)second.next(10);
  EXPECT_EQ(second.offset(), 10U);
  second = Cursor{log, {.from = 128 * kKiB, .only = {}, .lossless = true}};
  EXPECT_FALSE(log->must_wait());
  co_return;
}

CO_TEST(Cursor, LosesNothingAfterAGapWhenLossless) {
  Logs logs{executor};
  const auto log = logs.make(128 * kKiB);
  const std::string bytes = pattern(2 * kMiB);
  write(*log, Stream::out, std::string_view{bytes}.substr(0, kMiB));
  Cursor cursor{log, {.from = 100 * kKiB, .only = {}, .lossless = true}};
  EXPECT_TRUE(log->must_wait());
  const LogItem gap = co_await take(&cursor);
  EXPECT_EQ(gap.kind, Kind::gap);
  std::string got;
  while (gap.next + got.size() < bytes.size()) {
    while (!log->must_wait() && log->next_offset() < bytes.size()) {
      write(*log, Stream::out, std::string_view{bytes}.substr(log->next_offset(), 50'000));
    }
    const LogItem item = co_await take(&cursor, 30'000);
    CO_ASSERT_TRUE(item.kind == Kind::output);
    got += item.bytes.view();
  }
  EXPECT_TRUE(got == bytes.substr(gap.next));
}

}  // namespace
}  // namespace skiff::sessions
