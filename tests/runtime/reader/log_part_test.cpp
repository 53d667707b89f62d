#include "runtime/reader/log_part.hpp"

#include <functional>
#include <limits>
#include <string>
#include <utility>

#include "tests/support/output_test.hpp"

namespace skiff::runtime {
namespace {

using sessions::LogItem;
using sessions::Stream;
using test::kKiB;
using test::write;

/// The items that were read, and the offset after them.
struct Given {
  std::string bytes;
  std::uint64_t lost = 0;
  std::uint64_t next = 0;
};

Task<Given> give_part(std::shared_ptr<sessions::OutputLog> log, std::uint64_t from,
                      std::uint64_t limit = std::numeric_limits<std::uint64_t>::max()) {
  Given given;
  std::function<void(LogItem)> take = [&given](const LogItem& item) {
    if (item.kind == LogItem::Kind::gap) given.lost += item.next - item.offset;
    given.bytes += item.bytes.view();
  };
  given.next = co_await read_part(std::move(log), from, std::move(take), limit);
  co_return given;
}

CO_TEST(LogPart, EndsAtTheLogsCurrentEnd) {
  test::Logs logs{executor};
  const auto log = logs.make();
  write(*log, Stream::out, "hello ");
  write(*log, Stream::err, "world");
  const Given all = co_await give_part(log, 0);
  EXPECT_EQ(all.bytes, "hello world");
  EXPECT_EQ(all.next, 11U);
  const Given none = co_await give_part(log, 11);
  EXPECT_EQ(none.bytes, "");
  EXPECT_EQ(none.next, 11U);
}

CO_TEST(LogPart, RespectsItsLimit) {
  test::Logs logs{executor};
  const auto log = logs.make();
  write(*log, Stream::out, "hello ");
  write(*log, Stream::err, "world");
  const Given part = co_await give_part(log, 2, 6);
  EXPECT_EQ(part.bytes, "llo wo");
  EXPECT_EQ(part.next, 8U);
}

CO_TEST(LogPart, ReportsGaps) {
  test::Logs logs{executor};
  const auto log = logs.make(128 * kKiB);
  write(*log, Stream::out, test::pattern(1000 * kKiB));
  const Given all = co_await give_part(log, 0);
  EXPECT_GT(all.lost, 0U);
  EXPECT_EQ(all.lost + all.bytes.size(), 1000 * kKiB);
  EXPECT_EQ(all.next, 1000 * kKiB);
}

CO_TEST(LogPart, WaitsForTheDisk) {
  const test::TemporaryDirectory spool;
  test::Logs logs{executor, {.memory_bytes = 64 * test::kMiB, .spool = spool.path(), .spool_bytes = 64 * test::kMiB}};
  const auto log = logs.make(2 * test::kMiB);
  const std::string bytes = test::pattern(8 * test::kMiB);
  for (std::size_t at = 0; at < bytes.size(); at += 64 * kKiB) {
    co_await log->room();
    write(*log, Stream::out, std::string_view{bytes}.substr(at, 64 * kKiB));
  }
  co_await logs.budget.drain();
  const Given all = co_await give_part(log, 0);
  EXPECT_TRUE(all.bytes == bytes);
  co_await logs.budget.drain();
}

}  // namespace
}  // namespace skiff::runtime
