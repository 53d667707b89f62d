#include "container/agent/copy/pack.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temporary_directory.hpp"

namespace skiff::container {
namespace {

namespace files = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

void write_to(const files::path& path, std::string_view text) {
  files::create_directories(path.parent_path());
  std::ofstream{path} << text;
}

bool ignore(const std::string&) {
  return true;
}

std::string packed(const files::path& from, const std::string& name, TarSummary* told = nullptr) {
  std::string archive;
  auto summary = pack_tar(from, name, [&](const std::string& block) {
    archive += block;
    return true;
  });
  EXPECT_TRUE(summary) << summary.error().message;
  if (summary && told != nullptr) *told = std::move(*summary);
  return archive;
}

TEST(Pack, LeavesOutWhatIsNoFileAndSaysSo) {
  const test::TemporaryDirectory top;
  write_to(top.path() / "from/file", "text");
  ASSERT_EQ(::mkfifo((top.path() / "from/pipe").c_str(), 0600), 0);
  const auto summary = pack_tar(top.path() / "from", ".", ignore);
  ASSERT_TRUE(summary) << summary.error().message;
  EXPECT_EQ(summary->entries, 1U);
  EXPECT_EQ(summary->skipped, 1U);
}

TEST(Pack, IsAsLargeAsItIsSaidToBeBeforehand) {
  const test::TemporaryDirectory top;
  const files::path from = top.path() / "from";
  write_to(from / "empty", "");
  write_to(from / "one", std::string(512, 'x'));
  write_to(from / "a/two", std::string(3'000'001, 'x'));
  files::create_symlink("one", from / "link");
  files::create_hard_link(from / "a/two", from / "again");
  ASSERT_EQ(::mkfifo((from / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(tar_size(from, "."), packed(from, ".").size());
  EXPECT_EQ(tar_size(from, "name"), packed(from, "name").size());
  EXPECT_EQ(tar_size(from / "a/two", "name"), packed(from / "a/two", "name").size());
  EXPECT_EQ(tar_size(from / "a/two", "name"), tar_size(3'000'001) + 1024);  // its time has parts of a second
  EXPECT_EQ(tar_size(from / "link", "name"), packed(from / "link", "name").size());
}

TEST(Pack, TellsWhatIsNotThereAndEndsWhenNobodyTakesIt) {
  const test::TemporaryDirectory top;
  EXPECT_FALSE(pack_tar(top.path() / "none", "x", ignore));
  write_to(top.path() / "large", std::string(5'000'000, 'x'));
  int blocks = 0;
  const auto stopped = pack_tar(top.path() / "large", "x", [&](const std::string&) { return ++blocks < 2; });
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, Errc::cancelled);
  EXPECT_EQ(blocks, 2);
}

TEST(Pack, SendsHolesAsZerosAndAFileOfSeveralNamesOnce) {
  const test::TemporaryDirectory top;
  const files::path from = top.path() / "from";
  write_to(from / "one", std::string(10'000, 'x'));
  files::create_hard_link(from / "one", from / "two");
  files::create_directory(from / "deep");
  files::create_hard_link(from / "one", from / "deep/three");
  write_to(from / "holes", "head");
  files::resize_file(from / "holes", 2'000'000);
  TarSummary told;
  const std::string archive = packed(from, "store", &told);
  EXPECT_EQ(told.bytes, 2'010'000U);
  EXPECT_EQ(told.entries, 6U);
  EXPECT_THAT(archive, HasSubstr("mtime="));
  EXPECT_EQ(archive.find("sparse"), std::string::npos);
}

TEST(Pack, LeavesOutWhatCanNotBeReadAndSaysWhy) {
  const test::TemporaryDirectory top;
  write_to(top.path() / "from/fine", "text");
  write_to(top.path() / "from/locked", "text");
  const auto before = std::signal(SIGIO, SIG_IGN);  // the holder is told that somebody wants it
  const int holder = ::open((top.path() / "from/locked").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(::fcntl(holder, F_SETLEASE, F_WRLCK), 0);
  const auto summary = pack_tar(top.path() / "from", ".", ignore);
  ::fcntl(holder, F_SETLEASE, F_UNLCK);
  ::close(holder);
  std::signal(SIGIO, before);
  ASSERT_TRUE(summary) << summary.error().message;
  EXPECT_EQ(summary->entries, 1U);
  EXPECT_EQ(summary->missing, 1U);
  EXPECT_THAT(summary->missing_shown,
              ElementsAre((top.path() / "from/locked").string() + ": Resource temporarily unavailable"));
}

TEST(Pack, SaysThatAFileShrankAndFillsItUp) {
  const test::TemporaryDirectory top;
  const files::path log = top.path() / "log";
  write_to(log, std::string(5'000'000, 'x'));
  std::string archive;
  const auto summary = pack_tar(log, "log", [&](const std::string& block) {
    if (archive.empty()) files::resize_file(log, 100);
    archive += block;
    return true;
  });
  ASSERT_TRUE(summary) << summary.error().message;
  EXPECT_EQ(archive.size(), tar_size(5'000'000) + 1024);
  EXPECT_EQ(summary->missing, 1U);
  ASSERT_EQ(summary->missing_shown.size(), 1U);
  EXPECT_THAT(summary->missing_shown[0], HasSubstr("log: it shrank while it was copied: its last "));
}

TEST(Pack, TakesFilesThatDoNotSayTheirSize) {
  TarSummary told;
  packed("/proc/self/status", "status", &told);
  EXPECT_GT(told.bytes, 100U);
  packed("/sys/kernel/mm/transparent_hugepage/enabled", "small", &told);  // says 4096
  EXPECT_LT(told.bytes, 200U);
  EXPECT_EQ(told.missing, 0U);
}

TEST(Pack, FollowsALinkWithASlashBehindIt) {
  const test::TemporaryDirectory top;
  write_to(top.path() / "real/file", "text");
  files::create_symlink("real", top.path() / "link");
  TarSummary told;
  for (const auto& [from, name, entries] :
       {std::tuple{"link/.", ".", 1U}, {"link/", "name", 2U}, {"link", "name", 1U}}) {
    packed(top.path() / from, name, &told);
    EXPECT_EQ(told.entries, entries) << from;
  }
  EXPECT_EQ(told.bytes, 0U);
}

TEST(Pack, RefusesWhatIsNeitherFileNorDirectory) {
  EXPECT_EQ(pack_tar("/dev/null", "x", ignore).error().code, Errc::not_a_regular_file);
}

}  // namespace
}  // namespace skiff::container
