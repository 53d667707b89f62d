#include "runtime/reader/log_reader.hpp"

#include <string>

#include <boost/asio/post.hpp>

#include "tests/support/output_test.hpp"

namespace skiff::runtime {
namespace {

using namespace std::chrono_literals;
using sessions::LogItem;
using sessions::Stream;
using test::kKiB;
using test::write;
using Kind = LogItem::Kind;

/// A log and the turns of its readers.
struct ReadLog {
  explicit ReadLog(Executor executor) : logs{executor}, log{logs.make()}, turns{executor} {}
  Task<> close() { co_return; }

  test::Logs logs;
  std::shared_ptr<sessions::OutputLog> log;
  sessions::Turns turns;
};

/// The output of one turn, with a letter for each other item.
std::string take_turn(LogReader& reader) {
  std::string text;
  while (const auto item = reader.next()) {
    text += item->bytes.view();
    if (item->kind == Kind::gap) text += '~';
    if (item->kind == Kind::exit) text += '!';
    if (item->kind == Kind::end) text += '.';
  }
  return text;
}

CO_TEST(LogReader, ReadsUpToTheExit, ReadLog& on) {
  LogReader reader{on.turns, on.log, {}};
  write(*on.log, Stream::out, "one ");
  EXPECT_EQ(co_await reader.ready(), Wake::output);
  EXPECT_EQ(take_turn(reader), "one ");
  EXPECT_TRUE(reader.dry());
  boost::asio::post(executor, [&on] {
    write(*on.log, Stream::err, "two");
    on.log->exit({});
    on.log->end();
  });
  EXPECT_EQ(co_await reader.ready(), Wake::output);
  EXPECT_FALSE(reader.over());
  EXPECT_EQ(take_turn(reader), "two!");
  EXPECT_TRUE(reader.over());
}

CO_TEST(LogReader, ReadsUpToTheEndWhenAskedTo, ReadLog& on) {
  LogReader reader{on.turns, on.log, {.until_end = true}};
  on.log->exit({});
  co_await reader.ready();
  EXPECT_EQ(take_turn(reader), "!");
  EXPECT_FALSE(reader.over());
  boost::asio::post(executor, [&on] {
    write(*on.log, Stream::out, "late", true);
    on.log->end();
  });
  co_await reader.ready();
  EXPECT_EQ(take_turn(reader), "late.");
  EXPECT_TRUE(reader.over());
}

CO_TEST(LogReader, StopsWhereTheLogWasUnlessItFollows, ReadLog& on) {
  write(*on.log, Stream::out, "now");
  LogReader reader{on.turns, on.log, {.from = 1, .follow = false}};
  co_await reader.ready();
  EXPECT_EQ(take_turn(reader), "ow");
  EXPECT_TRUE(reader.over());
}

CO_TEST(LogReader, StopsAtItsLimit, ReadLog& on) {
  write(*on.log, Stream::out, "hello");
  on.log->exit({});
  LogReader reader{on.turns, on.log, {.limit_bytes = 3}};
  co_await reader.ready();
  EXPECT_EQ(take_turn(reader), "hel");
  EXPECT_TRUE(reader.over());
  LogReader nothing{on.turns, on.log, {.limit_bytes = 0}};
  co_await nothing.ready();
  EXPECT_EQ(take_turn(nothing), "");
  EXPECT_TRUE(nothing.over());
}

CO_TEST(LogReader, TakesNoMoreThanItsShareInATurn, ReadLog& on) {
  const std::string bytes = test::pattern(1000 * kKiB);
  write(*on.log, Stream::out, bytes);
  on.log->exit({});
  LogReader reader{on.turns, on.log, {}};
  EXPECT_FALSE(reader.next()) << "it has no turn yet";
  std::string read;
  int count = 0;
  for (; !reader.over(); ++count) {
    co_await reader.ready();
    const std::string part = take_turn(reader);
    EXPECT_LE(part.size(), sessions::Turns::kMost + 1);
    read += part;
  }
  EXPECT_EQ(count, 4);
  EXPECT_TRUE(read == bytes + '!');
}

CO_TEST(LogReader, ReportsKeepalivesOnlyWhenTheLogIsDry, ReadLog& on) {
  LogReader reader{on.turns, on.log, {.watch = {.keepalive = 1ms}}};
  write(*on.log, Stream::out, "x");
  Wake wake = co_await reader.ready();
  EXPECT_EQ(wake, Wake::output);
  EXPECT_EQ(take_turn(reader), "x");
  // The alarm itself wakes the reader without an event; the keepalive follows if nothing has come meanwhile.
  for (int i = 0; i < 2 && (wake = co_await reader.ready()) == Wake::output; ++i) EXPECT_EQ(take_turn(reader), "");
  EXPECT_EQ(wake, Wake::keepalive);
}

CO_TEST(LogReader, ReleasesWhatWasHeldForLong, ReadLog& on) {
  LogReader reader{on.turns, on.log, {.watch = {.keepalive = 1h}}};
  EXPECT_EQ(co_await reader.ready(true), Wake::output);
  Wake wake = Wake::output;
  while (wake == Wake::output) {
    EXPECT_EQ(take_turn(reader), "");
    wake = co_await reader.ready(true);
  }
  EXPECT_EQ(wake, Wake::release);
}

CO_TEST(LogReader, HoldsAgainForAsLongAsBefore, ReadLog& on) {
  LogReader reader{on.turns, on.log, {}};
  co_await reader.ready(true);
  EXPECT_EQ(take_turn(reader), "");
  EXPECT_EQ(co_await reader.ready(true), Wake::output) << "the alarm";
  EXPECT_EQ(take_turn(reader), "");
  write(*on.log, Stream::out, "the other half");
  EXPECT_EQ(co_await reader.ready(false), Wake::output);
  EXPECT_EQ(take_turn(reader), "the other half");
  EXPECT_EQ(co_await reader.ready(true), Wake::output) << "another half is not held for long yet";
}

CO_TEST(LogReader, ReportsItsTimeLimitAlsoWhenTheLogHasMore, ReadLog& on) {
  write(*on.log, Stream::out, "more");
  LogReader late{on.turns, on.log, {.watch = {.until = SteadyTime::clock::now()}}};
  EXPECT_EQ(co_await late.ready(), Wake::overdue);
  LogReader expiring{on.turns, on.log, {.watch = {.token_end = wall_now()}}};
  Wake wake = Wake::output;
  while (wake == Wake::output) {
    (void)take_turn(expiring);
    wake = co_await expiring.ready();
  }
  EXPECT_EQ(wake, Wake::expired);
}

CO_TEST(LogReader, RewindsToAnOffset, ReadLog& on) {
  write(*on.log, Stream::out, "hello");
  on.log->exit({});
  LogReader reader{on.turns, on.log, {.lossless = true}};
  co_await reader.ready();
  EXPECT_EQ(take_turn(reader), "hello!");
  reader.rewind(3);
  EXPECT_EQ(reader.offset(), 3U);
  EXPECT_FALSE(reader.over());
  co_await reader.ready();
  EXPECT_EQ(take_turn(reader), "lo!");
}

}  // namespace
}  // namespace skiff::runtime
