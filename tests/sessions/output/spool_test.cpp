#include "sessions/output/spool.hpp"

#include <sys/mount.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <memory>
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
using Kind = LogItem::Kind;

/// Writes like a pump, which waits when it must.
Task<> pump(std::shared_ptr<OutputLog> log, std::string_view bytes) {
  while (!bytes.empty()) {
    co_await log->room();
    const std::span<char> room = log->prepare();
    const std::size_t size = std::min(room.size(), bytes.size());
    std::memcpy(room.data(), bytes.data(), size);
    log->append(Stream::out, size, false);
    bytes.remove_prefix(size);
  }
}

struct Reading {
  std::string bytes;
  std::uint64_t missing = 0;
  bool right = true;  ///< every byte equals the one that was written
};

Task<Reading> read_and_compare(std::shared_ptr<OutputLog> log, std::string_view written) {
  Reading reading;
  Cursor cursor{log, {}};
  while (cursor.offset() < log->next_offset()) {
    const LogItem item = co_await take(&cursor);
    if (item.kind == Kind::gap) {
      reading.missing += item.next - item.offset;
    } else {
      reading.right = reading.right && item.bytes.view() == written.substr(item.offset, item.bytes.size());
      reading.bytes += item.bytes.view();
    }
  }
  co_return reading;
}

TEST(OutputSpool, KeepsWhatDoesNotFitInMemoryAndLeavesNothingBehind) {
  const test::TemporaryDirectory directory;
  const std::size_t descriptors = test::open_descriptors();
  test::run_on_reactor([&directory](Executor executor) -> Task<> {
    Logs logs{executor, {.memory_bytes = 64 * kMiB, .spool = directory.path(), .spool_bytes = 64 * kMiB}};
    auto log = logs.make(kMiB);
    const std::string bytes = pattern(10 * kMiB + 77);
    co_await pump(log, bytes);
    co_await logs.budget.drain();
    EXPECT_TRUE(directory.empty()) << "the file has no name";
    EXPECT_LE(logs.budget.memory_used(), 2 * kMiB);
    EXPECT_GE(logs.budget.spool_used(), 9 * kMiB - 256 * kKiB);
    const Reading reading = co_await read_and_compare(log, bytes);
    EXPECT_EQ(reading.missing, 0U);
    EXPECT_TRUE(reading.bytes == bytes);
    EXPECT_LE(logs.budget.memory_used(), 2 * kMiB) << "what was brought back goes with its reader";
    EXPECT_EQ(log->first_kept(), 0U);
    log.reset();
    EXPECT_EQ(logs.budget.spool_used(), 0U);
    EXPECT_EQ(logs.budget.memory_used(), 0U);
  });
  EXPECT_EQ(test::open_descriptors(), descriptors);
}

CO_TEST(OutputSpool, SharesAChunkReadFromDiskAmongReaders) {
  const test::TemporaryDirectory directory;
  Logs logs{executor, {.memory_bytes = 64 * kMiB, .spool = directory.path(), .spool_bytes = 64 * kMiB}};
  const auto log = logs.make(2 * kMiB);
  const std::string bytes = pattern(8 * kMiB);
  co_await pump(log, bytes);
  co_await logs.budget.drain();
  const std::size_t before = logs.budget.memory_used();
  std::vector<Cursor> cursors;
  for (int i = 0; i < 100; ++i) {
    cursors.emplace_back(log, Cursor::Options{.from = kMiB, .only = {}, .lossless = false});
    if (i == 0) EXPECT_FALSE(cursors.back().next(1)) << "it is on disk";
    co_await cursors.back().ready();
    const auto item = cursors.back().next(1000);
    CO_ASSERT_TRUE(item);
    EXPECT_TRUE(item->bytes.view() == std::string_view{bytes}.substr(kMiB, 1000));
  }
  EXPECT_LE(logs.budget.memory_used() - before, 256 * kKiB);
}

CO_TEST(OutputSpool, KeepsTheStreamOfEachByte) {
  const test::TemporaryDirectory directory;
  Logs logs{executor, {.memory_bytes = 64 * kMiB, .spool = directory.path(), .spool_bytes = 64 * kMiB}};
  const auto log = logs.make(2 * kMiB);
  test::LogModel model;
  // The first read is so large that the log keeps its segment, without the part that is in the head.
  const std::string bytes = pattern(200 * kKiB);
  for (int i = 0; i < 60; ++i) {
    const Stream stream = i % 2 == 0 ? Stream::out : Stream::err;
    const std::string_view part =
        std::string_view{bytes}.substr(0, i == 0 ? bytes.size() : 10'000 + 3'000U * static_cast<unsigned>(i));
    const auto room = log->prepare();
    CO_ASSERT_TRUE(i > 0 || room.size() >= part.size());
    test::write(*log, stream, part, i > 30);
    model.add(stream, part, i > 30);
  }
  co_await logs.budget.drain();
  for (const std::optional<Stream> only :
       {std::optional<Stream>{}, std::optional{Stream::out}, std::optional{Stream::err}}) {
    Cursor cursor{log, {.from = 0, .only = only, .lossless = false}};
    std::uint64_t count = 0;
    while (cursor.offset() < log->next_offset()) {
      const std::uint64_t before = cursor.offset();
      const auto item = cursor.next(50'000);
      if (item) model.check(*item, before, only);
      if (item) count += item->bytes.size();
      if (!item && cursor.offset() < log->next_offset()) co_await cursor.ready();
    }
    EXPECT_EQ(count, only ? log->bytes_of(*only) : log->next_offset());
  }
}

CO_TEST(OutputSpool, ReadsBackWhileTheProducerGoesOn) {
  const test::TemporaryDirectory directory;
  Logs logs{executor, {.memory_bytes = 64 * kMiB, .spool = directory.path(), .spool_bytes = 64 * kMiB}};
  const auto log = logs.make(kMiB);
  const std::string bytes = pattern(16 * kMiB);
  TaskGroup tasks{executor};
  tasks.spawn("pump", pump(log, bytes));
  Cursor cursor{log, {}};
  std::string got;
  while (got.size() < bytes.size()) {
    const LogItem item = co_await take(&cursor, 50'000);
    CO_ASSERT_TRUE(item.kind == Kind::output);
    CO_ASSERT_TRUE(item.offset == got.size());
    got += item.bytes.view();
  }
  co_await tasks.join();
  EXPECT_TRUE(got == bytes);
  co_await logs.budget.drain();
}

CO_TEST(OutputSpool, DropsAndReportsOutputAboveTheQuota) {
  const test::TemporaryDirectory directory;
  Logs logs{executor, {.memory_bytes = 64 * kMiB, .spool = directory.path(), .spool_bytes = 2 * kMiB}};
  auto log = logs.make(kMiB);
  const std::string bytes = pattern(10 * kMiB);
  co_await pump(log, bytes);
  co_await logs.budget.drain();
  EXPECT_LE(logs.budget.spool_used(), 2 * kMiB);
  const Reading reading = co_await read_and_compare(log, bytes);
  EXPECT_TRUE(reading.right);
  EXPECT_EQ(reading.missing + reading.bytes.size(), bytes.size());
  EXPECT_GE(reading.bytes.size(), 2 * kMiB + 512 * kKiB);
  EXPECT_GT(reading.missing, 6 * kMiB);
  // The next log gets its quota.
  log.reset();
  EXPECT_EQ(logs.budget.spool_used(), 0U);
  const auto other = logs.make(kMiB);
  const std::string fits = pattern(2 * kMiB);
  co_await pump(other, fits);
  co_await logs.budget.drain();
  EXPECT_EQ((co_await read_and_compare(other, fits)).missing, 0U);
}

/// A file system of 1 MiB.
class SmallDisk {
 public:
  SmallDisk() { mounted_ = ::mount("tmpfs", directory_.path().c_str(), "tmpfs", 0, "size=1m") == 0; }
  ~SmallDisk() {
    if (mounted_) ::umount2(directory_.path().c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  [[nodiscard]] bool mounted() const { return mounted_; }
  [[nodiscard]] const std::filesystem::path& path() const { return directory_.path(); }

 private:
  test::TemporaryDirectory directory_;
  bool mounted_ = false;
};

TEST(OutputSpool, DropsAndReportsOutputWhenTheDiskIsFull) {
  const SmallDisk disk;
  if (!disk.mounted()) GTEST_SKIP() << "can't mount a tmpfs here: " << std::strerror(errno);
  test::run_on_reactor([&disk](Executor executor) -> Task<> {
    Logs logs{executor, {.memory_bytes = 64 * kMiB, .spool = disk.path(), .spool_bytes = 1024 * kMiB}};
    auto log = logs.make(kMiB);
    const std::string bytes = pattern(10 * kMiB);
    co_await pump(log, bytes);
    co_await logs.budget.drain();
    EXPECT_LE(logs.budget.spool_used(), kMiB) << "only what was really written counts";
    EXPECT_GT(logs.budget.spool_used(), 256 * kKiB);
    const Reading reading = co_await read_and_compare(log, bytes);
    EXPECT_TRUE(reading.right);
    EXPECT_EQ(reading.missing + reading.bytes.size(), bytes.size());
    EXPECT_GT(reading.missing, 7 * kMiB);
    EXPECT_TRUE(std::string_view{reading.bytes}.starts_with(std::string_view{bytes}.substr(0, OutputLog::kHeadBytes)));
    EXPECT_TRUE(std::string_view{reading.bytes}.ends_with(std::string_view{bytes}.substr(bytes.size() - 900 * kKiB)));
    log.reset();
    EXPECT_EQ(logs.budget.spool_used(), 0U);
  });
}

CO_TEST(OutputSpool, DropsWhenTheDirectoryIsGone) {
  Logs logs{executor, {.memory_bytes = 64 * kMiB, .spool = "/nonexistent/spool", .spool_bytes = 64 * kMiB}};
  const auto log = logs.make(kMiB);
  const std::string bytes = pattern(4 * kMiB);
  co_await pump(log, bytes);
  co_await logs.budget.drain();
  EXPECT_EQ(logs.budget.spool_used(), 0U);
  EXPECT_LE(logs.budget.memory_used(), 2 * kMiB);
  const Reading reading = co_await read_and_compare(log, bytes);
  EXPECT_TRUE(reading.right);
  EXPECT_GT(reading.missing, 2 * kMiB);
}

CO_TEST(OutputSpool, TheSharedLimitMovesEndedLogsToDisk) {
  const test::TemporaryDirectory directory;
  Logs logs{executor, {.memory_bytes = 4 * kMiB, .spool = directory.path(), .spool_bytes = 64 * kMiB}};
  std::vector<std::shared_ptr<OutputLog>> all;
  const std::string bytes = pattern(2 * kMiB);
  for (int i = 0; i < 8; ++i) {
    all.push_back(logs.make());
    co_await pump(all.back(), bytes);
    all.back()->exit({});
    all.back()->end();
  }
  co_await logs.budget.drain();
  EXPECT_LE(logs.budget.memory_used(), 4 * kMiB + 256 * kKiB);
  EXPECT_GE(logs.budget.spool_used(), 11 * kMiB);
  for (const auto& log : all) {
    const Reading reading = co_await read_and_compare(log, bytes);
    EXPECT_TRUE(reading.bytes == bytes);
  }
}

CO_TEST(OutputSpool, FreesTheFileOfALogDestroyedDuringWrites) {
  const test::TemporaryDirectory directory;
  Logs logs{executor, {.memory_bytes = 64 * kMiB, .spool = directory.path(), .spool_bytes = 64 * kMiB}};
  auto log = logs.make(kMiB);
  test::write(*log, Stream::out, pattern(4 * kMiB));  // without a turn of the reactor: all writes are in flight
  EXPECT_GT(logs.budget.spool_used(), 0U);
  log.reset();
  co_await logs.budget.drain();
  EXPECT_EQ(logs.budget.spool_used(), 0U);
  EXPECT_EQ(logs.budget.memory_used(), 0U);
  EXPECT_TRUE(directory.empty());
}

CO_TEST(OutputSpool, MakesAProducerWaitForTheDiskUnlessForbidden) {
  const test::TemporaryDirectory directory;
  Logs logs{executor, {.memory_bytes = 64 * kMiB, .spool = directory.path(), .spool_bytes = 64 * kMiB}};
  const auto log = logs.make(kMiB);
  const auto hasty = logs.make(kMiB, Overflow::drop);
  const std::string bytes = pattern(20 * kMiB);
  // No turn of the reactor in between, so no write is ever done.
  std::size_t given = 0;
  while (!log->must_wait() && given < bytes.size()) {
    test::write(*log, Stream::out, std::string_view{bytes}.substr(given, 64 * kKiB));
    given += 64 * kKiB;
  }
  EXPECT_LT(given, 12 * kMiB);
  test::write(*hasty, Stream::out, bytes);
  EXPECT_FALSE(hasty->must_wait());
  EXPECT_LE(logs.budget.memory_used(), 14 * kMiB);
  co_await log->room();
  co_await pump(log, std::string_view{bytes}.substr(given));
  co_await logs.budget.drain();
  EXPECT_EQ((co_await read_and_compare(log, bytes)).missing, 0U);
  EXPECT_GT((co_await read_and_compare(hasty, bytes)).missing, 0U);
}

}  // namespace
}  // namespace skiff::sessions
