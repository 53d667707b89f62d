#include "container/egress/audit.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace skiff::container::egress {
namespace {

class AuditTest : public testing::Test {
 protected:
  AuditTest() { std::filesystem::create_directory(folder_); }
  ~AuditTest() override { std::filesystem::remove_all(folder_); }
  [[nodiscard]] std::string text(const std::string& file) const {
    std::ostringstream all;
    all << std::ifstream{folder_ / file}.rdbuf();
    return all.str();
  }
  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("skiff-audit-" + std::to_string(::getpid()));
};

TEST_F(AuditTest, WritesLines) {
  FileAudit audit{folder_, "demo"};
  EXPECT_TRUE(audit.allow({.verdict = "allowed", .host = "pypi.org", .port = 443, .address = "8.8.8.8"}));
  audit.deny({.verdict = "denied", .code = "bad_target", .detail = "a\nb\xFF"});
  const auto line = nlohmann::json::parse(text("egress.log"));
  EXPECT_EQ(line["sandbox"], "demo");
  EXPECT_EQ(line["verdict"], "allowed");
  EXPECT_EQ(line["host"], "pypi.org");
  EXPECT_EQ(line["port"], 443);
  EXPECT_EQ(line["address"], "8.8.8.8");
  const std::string denied = text("egress-denied.log");
  EXPECT_EQ(std::ranges::count(denied, '\n'), 1);
  EXPECT_EQ(nlohmann::json::parse(denied)["code"], "bad_target");
  struct stat found{};
  ASSERT_EQ(::stat((folder_ / "egress.log").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777U, 0600U);
}

TEST_F(AuditTest, IsBoundedAndKeepsTheNewest) {
  constexpr std::uint64_t kSmall = 1000;
  FileAudit audit{folder_, "demo", kSmall};
  EXPECT_TRUE(audit.allow({.verdict = "allowed", .host = "kept.org", .port = 443}));
  for (int i = 0; i < 100; ++i) audit.deny({.verdict = "denied", .host = "h" + std::to_string(i) + ".org", .port = 1});
  EXPECT_LE(text("egress-denied.log").size() + text("egress-denied.log.1").size(), 2 * kSmall);
  EXPECT_TRUE(text("egress-denied.log").contains("h99.org"));
  EXPECT_TRUE(text("egress.log").contains("kept.org"));
}

TEST_F(AuditTest, BeginsAnotherFileWhenItsOwnWasRemoved) {
  FileAudit audit{folder_, "demo"};
  EXPECT_TRUE(audit.allow({.verdict = "allowed", .host = "before.org", .port = 443}));
  ASSERT_TRUE(std::filesystem::remove(folder_ / "egress.log"));
  EXPECT_TRUE(audit.allow({.verdict = "allowed", .host = "after.org", .port = 443}));
  EXPECT_TRUE(text("egress.log").contains("after.org"));
}

TEST_F(AuditTest, IsWrittenToAFileAndToNothingElse) {
  ASSERT_EQ(::mkfifo((folder_ / "egress.log").c_str(), 0600), 0);
  FileAudit audit{folder_, "demo"};
  EXPECT_FALSE(audit.allow({.verdict = "allowed"})) << "nobody reads the FIFO, and nobody waits for a reader";
  const UniqueFd reader{::open((folder_ / "egress.log").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)};
  EXPECT_FALSE(audit.allow({.verdict = "allowed"}));
  ASSERT_EQ(::symlink("elsewhere", (folder_ / "egress-denied.log").c_str()), 0);
  audit.deny({.verdict = "denied"});
  EXPECT_FALSE(std::filesystem::exists(folder_ / "elsewhere"));
}

TEST_F(AuditTest, SaysThatItCannotBeWritten) {
  FileAudit audit{folder_ / "absent", "demo"};
  EXPECT_FALSE(audit.allow({.verdict = "allowed"}));
  std::filesystem::create_directory(folder_ / "absent");
  EXPECT_TRUE(audit.allow({.verdict = "allowed"}));
}

}  // namespace
}  // namespace skiff::container::egress
