#include "container/host/freshness.hpp"

#include <gtest/gtest.h>

#include "container/host/state_directory.hpp"
#include "tests/support/reactor_test.hpp"
#include "tests/support/temporary_directory.hpp"

namespace skiff::container {
namespace {

using namespace std::chrono_literals;

/// A record of a process that listens to nothing.
struct SightedBox {
  SightedBox() {
    EXPECT_TRUE(create_private_directory(directory / "local").has_value());
    record.name = "box";
    record.id = "s1";
    record.port = 1;
    agent = start_daemon({.argv = {"/bin/sleep", "1000"}, .directory = "/", .is_daemon = true}).value_or(HostProcess{});
    record.set_process(agent);
    EXPECT_TRUE(records.add(record).has_value());
  }
  test::TemporaryDirectory directory;
  HostRecords records{directory / "local"};
  HostRecord record;
  HostProcess agent;
};

CO_TEST(HostFreshness, HoldsUntilTheProcessEnds) {
  SightedBox box;
  auto seen = HostFreshness::take(box.records, "box");
  CO_ASSERT_TRUE(seen != nullptr);
  EXPECT_TRUE(seen->holds());
  EXPECT_TRUE(seen->holds());
  CO_ASSERT_TRUE((co_await end_process(box.agent, 10s)).has_value());
  EXPECT_FALSE(seen->holds());
  EXPECT_EQ(HostFreshness::take(box.records, "box"), nullptr);
}

CO_TEST(HostFreshness, HoldsUntilTheRecordIsWrittenAgain) {
  SightedBox box;
  auto seen = HostFreshness::take(box.records, "box");
  CO_ASSERT_TRUE(seen != nullptr);
  box.record.labels["x"] = "1";
  CO_ASSERT_TRUE(box.records.save(box.record).has_value());
  EXPECT_FALSE(seen->holds());
  box.record.labels.erase("x");
  CO_ASSERT_TRUE(box.records.save(box.record).has_value());
  EXPECT_FALSE(seen->holds()) << "also when it says the same again";
  seen = HostFreshness::take(box.records, "box");
  CO_ASSERT_TRUE(seen != nullptr);
  CO_ASSERT_TRUE(remove_directory(box.records.directory("box")).has_value());
  EXPECT_FALSE(seen->holds());
  EXPECT_EQ(HostFreshness::take(box.records, "box"), nullptr);
  EXPECT_EQ(HostFreshness::take(box.records, "../box"), nullptr);
  EXPECT_TRUE((co_await end_process(box.agent, 10s)).has_value());
}

CO_TEST(HostFreshness, IsOfWhatRunsAlone) {
  SightedBox box;
  HostRecord stopped = box.record;
  stopped.stopped = true;
  CO_ASSERT_TRUE(box.records.save(stopped).has_value());
  EXPECT_EQ(HostFreshness::take(box.records, "box"), nullptr);
  HostRecord other = box.record;
  ++other.started_ticks;
  CO_ASSERT_TRUE(box.records.save(other).has_value());
  EXPECT_EQ(HostFreshness::take(box.records, "box"), nullptr) << "another process has its pid";
  EXPECT_TRUE((co_await end_process(box.agent, 10s)).has_value());
}

}  // namespace
}  // namespace skiff::container
