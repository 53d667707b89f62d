#include "container/egress/audit_reader.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <vector>

#include <gtest/gtest.h>
#include <boost/asio/post.hpp>

#include "base/async/task_group.hpp"
#include "container/egress/audit.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container::egress {
namespace {

/// A directory with a log of small files.
struct Logged {
  static constexpr std::uint64_t kMost = 100;

  Logged() = default;
  explicit Logged(const Executor& /*on*/) {}
  ~Logged() { std::filesystem::remove_all(folder); }
  Logged(const Logged&) = delete;
  Logged& operator=(const Logged&) = delete;
  Task<> stop() { co_return; }

  void write(int first, int count) {
    for (int i = first; i < first + count; ++i) EXPECT_TRUE(log.append("line " + std::to_string(i) + "\n"));
  }
  std::string read_all() {
    std::string all;
    for (std::string lines; !(lines = reader.read().value()).empty();) all += lines;
    return all;
  }
  static std::string lines(int first, int count) {
    std::string all;
    for (int i = first; i < first + count; ++i) all += "line " + std::to_string(i) + "\n";
    return all;
  }

  std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("skiff-audit-reader-" + std::to_string(::getpid()));
  BoundedLog log{folder / "log", kMost};
  UniqueFd place = [this] {
    std::filesystem::create_directory(folder);
    return UniqueFd{::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  }();
  AuditReader reader{place, "log"};
};

TEST(AuditReader, ReadsEachLineOnceAcrossChangesOfTheFile) {
  Logged on;
  EXPECT_EQ(on.read_all(), "");
  std::string all;
  for (int i = 0; i < 100; ++i) {
    on.write(i, 1);
    if (i % 3 == 0) all += on.read_all();
  }
  all += on.read_all();
  EXPECT_EQ(all, Logged::lines(0, 100));
}

TEST(AuditReader, BeginsWithTheOlderFile) {
  Logged on;
  on.write(0, 15);
  EXPECT_TRUE(std::filesystem::exists(on.folder / "log.1"));
  EXPECT_EQ(on.read_all(), Logged::lines(0, 15));
}

TEST(AuditReader, ReadsWhatWasWrittenToAFileAfterItsLastLookAtIt) {
  Logged on;
  on.write(0, 2);
  EXPECT_EQ(on.read_all(), Logged::lines(0, 2));
  on.write(2, 18);
  EXPECT_EQ(on.read_all(), Logged::lines(2, 18));
}

TEST(AuditReader, ReadsTheNewerFileThoughItIsRemovedMeanwhile) {
  Logged on;
  on.write(0, 15);
  const auto older = on.reader.read();
  ASSERT_TRUE(older.has_value());
  std::filesystem::remove(on.folder / "log");
  std::filesystem::remove(on.folder / "log.1");
  EXPECT_EQ(*older + on.read_all(), Logged::lines(0, 15));
}

TEST(AuditReader, SaysWhereLinesMayBeMissing) {
  Logged on;
  on.write(0, 1);
  EXPECT_EQ(on.read_all(), Logged::lines(0, 1));
  on.write(1, 99);
  const std::string rest = on.read_all();
  EXPECT_EQ(std::ranges::count(rest, '{'), 1);
  EXPECT_TRUE(rest.contains(R"("verdict":"missing")")) << rest;
  EXPECT_TRUE(rest.starts_with("line 1\n") && rest.ends_with("line 99\n")) << rest;
}

TEST(AuditReader, WaitsForTheEndOfALine) {
  Logged on;
  std::ofstream file{on.folder / "log"};
  file << "half" << std::flush;
  EXPECT_EQ(on.read_all(), "");
  file << " a line\n" << std::flush;
  EXPECT_EQ(on.read_all(), "half a line\n");
}

TEST(AuditReader, DoesNotReadTheOlderFileAgainWhenTheNewerWasRemoved) {
  Logged on;
  on.write(0, 15);
  EXPECT_EQ(on.read_all(), Logged::lines(0, 15));
  std::filesystem::remove(on.folder / "log");
  on.write(15, 1);
  EXPECT_EQ(on.read_all(), Logged::lines(15, 1));
}

CO_TEST(FollowAudit, PassesLinesUntilTheDirectoryGoes, Logged& on) {
  FileAudit audit{on.folder, "demo"};
  EXPECT_TRUE(audit.allow({.verdict = "allowed", .host = "first.org", .port = 443}));
  std::vector<std::string> seen;
  TaskGroup tasks{executor};
  bool has_ended = false;
  tasks.spawn("reader", [](Logged* of, std::vector<std::string>* to, bool* end) -> Task<> {
    auto done = co_await follow_audit(of->folder, [to](std::string_view lines) -> Result<> {
      to->emplace_back(lines);
      return {};
    });
    EXPECT_TRUE(done.has_value());
    *end = true;
  }(&on, &seen, &has_ended));
  while (seen.empty()) co_await boost::asio::post(executor, use_task);
  EXPECT_TRUE(seen.back().contains("first.org"));
  audit.deny({.verdict = "denied", .code = "not_allowed", .host = "second.org", .port = 443});
  while (seen.size() < 2) co_await boost::asio::post(executor, use_task);
  EXPECT_TRUE(seen.back().contains("second.org"));
  audit.end({.verdict = "ended", .host = "last.org", .port = 443});
  std::filesystem::remove_all(on.folder);
  co_await tasks.join();
  EXPECT_TRUE(has_ended);
}

CO_TEST(FollowAudit, EndsWhenItsLinesCannotBeTaken, Logged& on) {
  FileAudit audit{on.folder, "demo"};
  EXPECT_TRUE(audit.allow({.verdict = "allowed"}));
  auto done = co_await follow_audit(on.folder, [](std::string_view) { return fail(Errc::io_error, "full"); });
  EXPECT_FALSE(done.has_value());
}

}  // namespace
}  // namespace skiff::container::egress
