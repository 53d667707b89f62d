#include "protocol/service/audit_log.hpp"

#include <sys/stat.h>

#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/child.hpp"
#include "tests/support/fake_root.hpp"

namespace skiff::protocol::service {
namespace {

using ::testing::HasSubstr;

std::string content(const std::filesystem::path& path) {
  std::ifstream file{path};
  return {std::istreambuf_iterator<char>{file}, {}};
}

TEST(AuditLog, WritesAllLinesBeforeItEnds) {
  const test::FakeRoot directory;
  const auto path = directory.path / "audit";
  std::string expected;
  {
    auto log = AuditLog::open(path.string());
    ASSERT_TRUE(log) << log.error().message;
    for (int i = 0; i < 10'000; ++i) {
      const std::string line = R"({"n":)" + std::to_string(i) + '}';
      (*log)->write(line);
      expected += line + '\n';
    }
  }
  EXPECT_EQ(content(path), expected);
  struct stat info{};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
}

TEST(AuditLog, ReopensItsFileWithoutLosingLines) {
  const test::FakeRoot directory;
  const auto path = directory.path / "audit";
  {
    auto log = AuditLog::open(path.string());
    ASSERT_TRUE(log);
    (*log)->write("{1}");
    std::filesystem::rename(path, directory.path / "audit.1");
    (*log)->reopen();
    (*log)->write("{2}");
  }
  EXPECT_EQ(content(directory.path / "audit.1"), "{1}\n");
  EXPECT_EQ(content(path), "{2}\n");
}

TEST(AuditLog, AppendsToAnExistingFile) {
  const test::FakeRoot directory;
  directory.write("audit", "{0}\n");
  {
    auto log = AuditLog::open((directory.path / "audit").string());
    ASSERT_TRUE(log);
    (*log)->write("{1}");
  }
  EXPECT_EQ(content(directory.path / "audit"), "{0}\n{1}\n");
}

TEST(AuditLog, CountsAndReportsDroppedLines) {
  const test::FakeRoot directory;
  const auto path = directory.path / "audit";
  {
    auto log = AuditLog::open(path.string(), 16);
    ASSERT_TRUE(log);
    (*log)->write(std::string(100, 'x'));
    EXPECT_EQ((*log)->lost(), 1U);
  }
  EXPECT_THAT(content(path), HasSubstr(R"("event":"lost","lines":1})"));
}

TEST(AuditLog, ReportsLinesLostOnAFullDisk) {
  auto log = AuditLog::open("/dev/full");
  ASSERT_TRUE(log);
  (*log)->write("{}");
  EXPECT_TRUE(test::eventually([&] { return (*log)->lost() == 1; })) << (*log)->lost();
}

TEST(AuditLog, FailsIfItsFileCannotBeCreated) {
  const auto log = AuditLog::open("/nonexistent/audit");
  ASSERT_FALSE(log);
  EXPECT_THAT(log.error().message, HasSubstr("/nonexistent/audit"));
}

}  // namespace
}  // namespace skiff::protocol::service
