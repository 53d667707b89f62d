#include "container/host/host_watch.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>

#include "base/async/event.hpp"
#include "container/host/record.hpp"
#include "container/host/state_directory.hpp"
#include "tests/support/reactor_test.hpp"
#include "tests/support/temporary_directory.hpp"

namespace skiff::container {
namespace {

/// A state directory that is watched.
struct WatchedState {
  explicit WatchedState(Executor executor) : noticed{executor} {
    EXPECT_TRUE(create_private_directory(directory / "local").has_value());
    records = HostRecords{directory / "local"};
    record.name = "box";
    record.id = "s1";
  }
  [[nodiscard]] std::unique_ptr<ListWatch> watch(Executor executor, bool logs_end = true) {
    auto opened = HostWatch::open(executor, directory / "local");
    EXPECT_TRUE(opened.has_value());
    return opened ? HostWatch::join(std::move(*opened), [this] { tell(); }, logs_end) : nullptr;
  }
  void tell() {
    ++count;
    noticed.notify_all();
  }
  /// Waits for news since the last call.
  static Task<> news(WatchedState* self) {
    while (self->count == self->seen) co_await self->noticed.wait();
    self->seen = self->count;
  }

  test::TemporaryDirectory directory;
  HostRecords records{{}};
  HostRecord record;
  Event noticed;
  int count = 0;
  int seen = 0;
};

CO_TEST(HostWatch, NoticesARecordThatIsAddedChangedAndRemoved) {
  WatchedState on{executor};
  auto watch = on.watch(executor);
  CO_ASSERT_TRUE(watch != nullptr);
  EXPECT_TRUE(watch->sees_all());
  EXPECT_TRUE(on.records.add(on.record).has_value());
  co_await WatchedState::news(&on);
  on.record.stopped = true;
  EXPECT_TRUE(on.records.save(on.record).has_value());
  co_await WatchedState::news(&on);
  EXPECT_TRUE(remove_directory(on.records.directory("box")).has_value());
  co_await WatchedState::news(&on);
  EXPECT_TRUE(watch->sees_all());
}

CO_TEST(HostWatch, NoticesSandboxesThatWereThereBefore) {
  WatchedState on{executor};
  EXPECT_TRUE(on.records.add(on.record).has_value());
  auto watch = on.watch(executor);
  on.record.stopped = true;
  EXPECT_TRUE(on.records.save(on.record).has_value());
  co_await WatchedState::news(&on);
}

CO_TEST(HostWatch, NoticesTheEndOfAnAgentByItsLog) {
  WatchedState on{executor};
  EXPECT_TRUE(on.records.add(on.record).has_value());
  std::ofstream log{on.records.log("box")};
  auto watch = on.watch(executor);
  log << "a line" << std::flush;
  log.close();
  co_await WatchedState::news(&on);
}

CO_TEST(HostWatch, SaysThatItDoesNotSeeAllWhereLogsDoNotEndWithAgents) {
  WatchedState on{executor};
  const auto watch = on.watch(executor, false);
  CO_ASSERT_TRUE(watch != nullptr);
  EXPECT_FALSE(watch->sees_all());
}

CO_TEST(HostWatch, SaysThatItDoesNotSeeAllOnceTheDirectoryIsAnother) {
  WatchedState on{executor};
  auto watch = on.watch(executor);
  CO_ASSERT_TRUE(watch != nullptr);
  std::filesystem::rename(on.directory / "local", on.directory / "other");
  co_await WatchedState::news(&on);
  EXPECT_FALSE(watch->sees_all());
}

CO_TEST(HostWatch, IsRefusedForADirectoryThatIsNotThere) {
  test::TemporaryDirectory directory;
  const auto opened = HostWatch::open(executor, directory / "missing");
  EXPECT_FALSE(opened.has_value());
  co_return;
}

}  // namespace
}  // namespace skiff::container
