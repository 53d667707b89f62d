#include "container/host/record.hpp"

#include <unistd.h>

#include <gtest/gtest.h>

#include "base/small_file.hpp"
#include "container/host/state_directory.hpp"
#include "tests/support/temporary_directory.hpp"

namespace skiff::container {
namespace {

HostRecord record_named(std::string name) {
  HostRecord made{.name = std::move(name),
                  .id = "s-1",
                  .owner = "me",
                  .labels = {{"a", "b"}},
                  .env = {{"X", "y=z"}},
                  .ttl = std::chrono::milliseconds{5},
                  .idle_ttl = {},
                  .created_at = "2026-01-01T00:00:00.000Z",
                  .expires_ms = {},
                  .port = 1234,
                  .boot = {}};
  made.set_process(find_process(::getpid()).value());
  return made;
}

TEST(HostRecords, GiveBackWhatWasAdded) {
  const test::TemporaryDirectory directory;
  const HostRecords records{directory.path()};
  ASSERT_TRUE(records.add(record_named("box")));
  const auto read = records.load("box");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->id, "s-1");
  EXPECT_EQ(read->labels, record_named("box").labels);
  EXPECT_EQ(read->env, record_named("box").env);
  EXPECT_EQ(read->ttl, std::chrono::milliseconds{5});
  EXPECT_EQ(read->idle_ttl, std::nullopt);
  EXPECT_EQ(read->port, 1234);
  EXPECT_TRUE(is_alive(read->process()));
  EXPECT_TRUE(std::filesystem::is_directory(records.root("box")));
}

TEST(HostRecords, AreAddedOnceAndListedByName) {
  const test::TemporaryDirectory directory;
  const HostRecords records{directory.path()};
  ASSERT_TRUE(records.add(record_named("b")));
  ASSERT_TRUE(records.add(record_named("a")));
  EXPECT_EQ(records.add(record_named("a")).error().code, Errc::sandbox_conflict);
  EXPECT_EQ(records.names().value(), (std::vector<std::string>{"a", "b"}));
}

TEST(HostRecords, AreNotFoundOutsideOfTheirDirectory) {
  const test::TemporaryDirectory directory;
  const HostRecords records{directory.path() / "local"};
  for (const char* name : {"box", "../box", ".", "", "a/b"}) {
    EXPECT_EQ(records.load(name).error().code, Errc::sandbox_not_found) << name;
  }
  EXPECT_TRUE(records.names().value().empty());
}

TEST(HostRecords, OfALaterVersionAreReadAndDamagedOnesAreTold) {
  const test::TemporaryDirectory directory;
  const HostRecords records{directory.path()};
  ASSERT_TRUE(records.add(record_named("box")));
  const auto file = records.directory("box") / "record.json";
  std::string text = read_small_file(file, 10'000).value();
  ASSERT_TRUE(write_private_file(file, text.insert(1, R"("of_the_future":1,)")));
  EXPECT_TRUE(records.load("box"));
  ASSERT_TRUE(write_private_file(file, "{"));
  EXPECT_NE(records.load("box").error().message.find("record.json"), std::string::npos);
  EXPECT_EQ(records.names().value(), std::vector<std::string>{"box"});
}

TEST(EndInLog, IsThatOfTheLastLines) {
  const auto over =
      end_in_log("{\"message\":\"stopping\",\"cause\":\"lease\",\"why\":\"it is over\"}\n{\"message\":\"stopped\"}\n");
  ASSERT_TRUE(over);
  EXPECT_TRUE(over->is_lease);
  EXPECT_EQ(over->why, "it is over");
  // As an older agent has it.
  EXPECT_TRUE(end_in_log("{\"message\":\"stopping\",\"why\":\"the lease is over\"}\n")->is_lease);
  EXPECT_FALSE(end_in_log("{\"message\":\"stopping\",\"why\":\"a signal\"}\n")->is_lease);
  // The end of a log may begin in the middle of a line.
  const auto ended = end_in_log("rest\"}\n{\"cause\":\"signal\",\"why\":\"SIGTERM\"}");
  ASSERT_TRUE(ended);
  EXPECT_FALSE(ended->is_lease);
  EXPECT_EQ(ended->why, "SIGTERM");
  EXPECT_FALSE(end_in_log("{\"message\":\"serving\"}\n"));
  EXPECT_FALSE(end_in_log(""));
  EXPECT_FALSE(end_in_log("\n\n"));
}

}  // namespace
}  // namespace skiff::container
