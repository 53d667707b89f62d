#include "fs/watch/shared_watches.hpp"

#include <fcntl.h>

#include <filesystem>
#include <fstream>

#include <boost/asio/post.hpp>

#include "tests/support/reactor_test.hpp"
#include "tests/support/temporary_directory.hpp"

namespace skiff::fs {
namespace {

using Events = std::vector<WatchEvent>;

/// A directory and its watches.
struct Fixture {
  explicit Fixture(Executor on, DirectoryWatches::Limits limits = {}) : executor{on}, watches{on, pool, limits} {}

  Task<> stop() { return watches.close(); }
  static Task<Result<DirectoryWatches::Reader>> join(Fixture* self, std::string name = "") {
    auto open = [path = self->directory.path() / name]() -> Result<UniqueFd> {
      UniqueFd opened{::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
      if (!opened) return std::unexpected{system_error(errno, "open " + path.string())};
      return opened;
    };
    co_return co_await self->watches.join(std::move(open), name, false, 0);
  }
  void write(const std::string& name) const { std::ofstream{directory.path() / name} << "x"; }

  Executor executor;
  const test::TemporaryDirectory directory;
  BlockingPool pool{"test", 1};
  DirectoryWatches watches;
};

Task<Events> read_events(std::shared_ptr<DirectoryWatch> watch, std::uint64_t cursor) {
  Events events;
  while (events.empty() && !watch->over()) {
    auto found = co_await DirectoryWatch::events(watch, cursor, 100, SteadyTime::clock::now() + test::kReactorLimit);
    if (!found) {
      ADD_FAILURE() << found.error().message;
      break;
    }
    events = std::move(*found);
  }
  co_return events;
}

CO_TEST(DirectoryWatches, TwoReadersOfADirectoryShareOneWatchAndEachSeesEverything, Fixture& fixture) {
  auto one = co_await Fixture::join(&fixture);
  auto two = co_await Fixture::join(&fixture);
  CO_ASSERT_TRUE(one && two);
  EXPECT_EQ(one->watch(), two->watch());
  EXPECT_EQ(fixture.watches.size(), 1U);
  const auto begin = one->watch()->newest();
  fixture.write("a");
  const auto seen = co_await read_events(one->watch(), begin);
  const auto also = co_await read_events(two->watch(), begin);
  CO_ASSERT_TRUE(!seen.empty() && !also.empty());
  EXPECT_EQ(seen.front().path, "a");
  EXPECT_EQ(also.front().path, "a");
}

CO_TEST(DirectoryWatches, AFileThatIsMovedAwayIsToldWithoutAnotherEvent, Fixture& fixture) {
  const test::TemporaryDirectory elsewhere;
  fixture.write("a");
  auto reader = co_await Fixture::join(&fixture);
  CO_ASSERT_TRUE(reader);
  const auto begin = reader->watch()->newest();
  std::filesystem::rename(fixture.directory.path() / "a", elsewhere.path() / "a");
  const auto seen = co_await read_events(reader->watch(), begin);
  CO_ASSERT_TRUE(!seen.empty());
  EXPECT_EQ(seen.front().path, "a");
}

CO_TEST(DirectoryWatches, AReaderThatComesBackHasMissedNothing, Fixture& fixture) {
  std::uint64_t cursor = 0;
  {
    auto reader = co_await Fixture::join(&fixture);
    CO_ASSERT_TRUE(reader);
    cursor = reader->watch()->newest();
  }
  fixture.write("meanwhile");
  auto reader = co_await Fixture::join(&fixture);
  CO_ASSERT_TRUE(reader);
  const auto events = co_await read_events(reader->watch(), cursor);
  CO_ASSERT_TRUE(!events.empty());
  EXPECT_EQ(events.front().type, WatchEvent::Type::created);
  EXPECT_EQ(events.front().path, "meanwhile");
}

CO_TEST(DirectoryWatches, AWatchThatNobodyComesBackToIsForgotten) {
  Fixture fixture{executor, {.linger = std::chrono::milliseconds{1}, .most_lingering = 16}};
  {
    auto reader = co_await Fixture::join(&fixture);
    CO_ASSERT_TRUE(reader);
  }
  while (fixture.watches.size() > 0) co_await boost::asio::post(use_task);
  co_await fixture.watches.close();
}

CO_TEST(DirectoryWatches, TheOldestOfTooManyIsForgotten) {
  Fixture fixture{executor, {.linger = std::chrono::hours{1}, .most_lingering = 2}};
  for (const char* name : {"a", "b", "c"}) {
    std::filesystem::create_directory(fixture.directory.path() / name);
    auto reader = co_await Fixture::join(&fixture, name);
    CO_ASSERT_TRUE(reader);
  }
  EXPECT_EQ(fixture.watches.size(), 2U);
  co_await fixture.watches.close();
}

CO_TEST(DirectoryWatches, ADirectoryThatWasReplacedIsWatchedAnew, Fixture& fixture) {
  const auto path = fixture.directory.path() / "w";
  std::filesystem::create_directory(path);
  auto before = co_await Fixture::join(&fixture, "w");
  CO_ASSERT_TRUE(before);
  std::filesystem::rename(path, fixture.directory.path() / "old");
  std::filesystem::create_directory(path);
  auto after = co_await Fixture::join(&fixture, "w");
  CO_ASSERT_TRUE(after);
  EXPECT_NE(before->watch(), after->watch());
  const auto begin = after->watch()->newest();
  fixture.write("w/new");
  const auto events = co_await read_events(after->watch(), begin);
  CO_ASSERT_TRUE(!events.empty());
  EXPECT_EQ(events.front().path, "w/new");
}

CO_TEST(DirectoryWatches, ADirectoryThatIsRemovedEndsItsWatch, Fixture& fixture) {
  std::filesystem::create_directory(fixture.directory.path() / "w");
  auto reader = co_await Fixture::join(&fixture, "w");
  CO_ASSERT_TRUE(reader);
  const auto begin = reader->watch()->newest();
  std::filesystem::remove(fixture.directory.path() / "w");
  const auto events = co_await read_events(reader->watch(), begin);
  CO_ASSERT_TRUE(!events.empty());
  EXPECT_EQ(events.back().type, WatchEvent::Type::deleted);
  const auto rest = co_await read_events(reader->watch(), events.back().cursor);
  EXPECT_TRUE(rest.empty());
  EXPECT_TRUE(reader->watch()->over());
}

CO_TEST(DirectoryWatches, AWatchThatIsOverWaitsForNobody) {
  Fixture fixture{executor, {.linger = std::chrono::hours{1}, .most_lingering = 16}};
  std::filesystem::create_directory(fixture.directory.path() / "w");
  {
    auto reader = co_await Fixture::join(&fixture, "w");
    CO_ASSERT_TRUE(reader);
  }
  EXPECT_EQ(fixture.watches.size(), 1U);
  std::filesystem::remove(fixture.directory.path() / "w");
  while (fixture.watches.size() > 0) co_await boost::asio::post(use_task);
  co_await fixture.watches.close();
}

CO_TEST(DirectoryWatches, ClosingEndsTheWaitsAndRefusesNewReaders) {
  Fixture fixture{executor};
  auto reader = co_await Fixture::join(&fixture);
  CO_ASSERT_TRUE(reader);
  bool ended = false;
  TaskGroup group{executor};
  group.spawn("reader", [](std::shared_ptr<DirectoryWatch> watch, bool* done) -> Task<> {
    const auto events = co_await read_events(watch, watch->newest());
    *done = events.empty();
  }(reader->watch(), &ended));
  co_await fixture.watches.close();
  co_await group.join();
  EXPECT_TRUE(ended);
  auto late = co_await Fixture::join(&fixture);
  CO_ASSERT_TRUE(!late);
  EXPECT_EQ(late.error().code, Errc::draining);
}

CO_TEST(DirectoryWatches, WhatCannotBeOpenedIsAnError, Fixture& fixture) {
  auto reader = co_await Fixture::join(&fixture, "missing");
  CO_ASSERT_TRUE(!reader);
  EXPECT_EQ(reader.error().code, Errc::path_not_found);
  EXPECT_EQ(fixture.watches.size(), 0U);
}

}  // namespace
}  // namespace skiff::fs
