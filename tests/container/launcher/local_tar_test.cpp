#include "container/launcher/local_tar.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/tar_bytes.hpp"
#include "tests/support/temporary_folder.hpp"

namespace skiff::container {
namespace {

namespace files = std::filesystem;

void write(const files::path& path, std::string_view text, unsigned mode = 0644) {
  files::create_directories(path.parent_path());
  std::ofstream{path} << text;
  files::permissions(path, files::perms{mode});
}

std::string text_of(const files::path& path) {
  std::ifstream file{path};
  return {std::istreambuf_iterator<char>{file}, {}};
}

std::string pack(const files::path& from, const std::string& name) {
  std::string archive;
  const auto summary = pack_tar(from, name, [&](const std::string& block) {
    archive += block;
    return true;
  });
  EXPECT_TRUE(summary) << summary.error().message;
  return archive;
}

Result<TarSummary> unpack(std::string_view archive, const TarTarget& target, bool whole = true) {
  return unpack_tar(
      [&](std::span<char> into) -> std::optional<std::size_t> {
        if (archive.empty() && !whole) return std::nullopt;
        const std::size_t size = std::min(into.size(), archive.size());
        std::memcpy(into.data(), archive.data(), size);
        archive.remove_prefix(size);
        return size;
      },
      target);
}

TEST(LocalTar, CarriesAFolderWithModesAndLinks) {
  const test::TemporaryFolder top;
  write(top.path() / "from/a/run", "#!/bin/sh\n", 0750);
  write(top.path() / "from/\xc3\xbc", std::string(3'000'000, 'x'));
  write(top.path() / ("from/" + std::string(150, 'n') + "/" + std::string(150, 'm')), "deep");
  files::create_symlink("a/run", top.path() / "from/link");
  files::create_directory(top.path() / "from/empty");
  const std::string archive = pack(top.path() / "from", ".");
  const auto summary = unpack(archive, {.path = top.path() / "to"});
  ASSERT_TRUE(summary) << summary.error().message;
  EXPECT_EQ(text_of(top.path() / "to/a/run"), "#!/bin/sh\n");
  EXPECT_EQ(files::status(top.path() / "to/a/run").permissions(), files::perms{0750});
  EXPECT_EQ(files::file_size(top.path() / "to/\xc3\xbc"), 3'000'000U);
  EXPECT_EQ(text_of(top.path() / "to" / std::string(150, 'n') / std::string(150, 'm')), "deep");
  EXPECT_EQ(files::read_symlink(top.path() / "to/link"), "a/run");
  EXPECT_TRUE(files::is_directory(top.path() / "to/empty"));
  EXPECT_EQ(summary->skipped, 0U);
}

TEST(LocalTar, GivesAFileOrFolderTheNameThatIsAskedFor) {
  const test::TemporaryFolder top;
  write(top.path() / "from/file", "text");
  ASSERT_TRUE(unpack(pack(top.path() / "from/file", "other"), {.path = top.path() / "to"}));
  EXPECT_EQ(text_of(top.path() / "to/other"), "text");
  ASSERT_TRUE(unpack(pack(top.path() / "from", "folder"), {.path = top.path() / "to"}));
  EXPECT_EQ(text_of(top.path() / "to/folder/file"), "text");
  ASSERT_TRUE(unpack(pack(top.path() / "from/file", "x"), {.path = top.path() / "single", .is_file = true}));
  EXPECT_EQ(text_of(top.path() / "single"), "text");
}

TEST(LocalTar, LeavesOutWhatIsNoFileAndSaysSo) {
  const test::TemporaryFolder top;
  write(top.path() / "from/file", "text");
  ASSERT_EQ(::mkfifo((top.path() / "from/pipe").c_str(), 0600), 0);
  const auto summary = pack_tar(top.path() / "from", ".", [](const std::string&) { return true; });
  ASSERT_TRUE(summary) << summary.error().message;
  EXPECT_EQ(summary->entries, 1U);
  EXPECT_EQ(summary->skipped, 1U);
}

TEST(LocalTar, IsAsLargeAsItIsSaidToBeBeforehand) {
  const test::TemporaryFolder top;
  const files::path from = top.path() / "from";
  write(from / "empty", "");
  write(from / "one", std::string(512, 'x'));
  write(from / "a/two", std::string(3'000'001, 'x'));
  files::create_symlink("one", from / "link");
  ASSERT_EQ(::mkfifo((from / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(tar_size(from, "."), pack(from, ".").size());
  EXPECT_EQ(tar_size(from, "name"), pack(from, "name").size());
  EXPECT_EQ(tar_size(from / "a/two", "name"), pack(from / "a/two", "name").size());
  EXPECT_EQ(tar_size(from / "a/two", "name"), tar_size(3'000'001));
  EXPECT_EQ(tar_size(from / "link", "name"), pack(from / "link", "name").size());
}

TEST(LocalTar, TellsWhatIsNotThereAndEndsWhenNobodyTakesIt) {
  const test::TemporaryFolder top;
  EXPECT_FALSE(pack_tar(top.path() / "none", "x", [](const std::string&) { return true; }));
  write(top.path() / "large", std::string(5'000'000, 'x'));
  int blocks = 0;
  const auto stopped = pack_tar(top.path() / "large", "x", [&](const std::string&) { return ++blocks < 2; });
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, Errc::cancelled);
  EXPECT_EQ(blocks, 2);
}

TEST(LocalTar, RefusesEntriesThatLeaveTheTarget) {
  const test::TemporaryFolder top;
  write(top.path() / "outside/file", "kept");
  const std::string outside = (top.path() / "outside").string();
  const std::vector<std::string> archives{
      test::tar_member("../outside/file", '0', "changed"),
      test::tar_member("a/../../outside/file", '0', "changed"),
      test::tar_member(outside + "/file", '0', "changed"),
      test::tar_member("link", '2', "", outside) + test::tar_member("link/file", '0', "changed"),
      test::tar_member("hard", '1', "", outside + "/file") + test::tar_member("hard", '0', "changed"),
  };
  for (const std::string& archive : archives) {
    EXPECT_FALSE(unpack(archive + test::tar_end(), {.path = top.path() / "to"})) << archive.substr(0, 60);
    EXPECT_EQ(text_of(outside + "/file"), "kept");
  }
}

TEST(LocalTar, ReachesItsTargetThroughTheUsersOwnLinks) {
  const test::TemporaryFolder top;
  files::create_directory(top.path() / "real");
  files::create_directory_symlink("real", top.path() / "link");
  ASSERT_TRUE(unpack(test::tar_member("file", '0', "text") + test::tar_end(), {.path = top.path() / "link/to"}));
  EXPECT_EQ(text_of(top.path() / "real/to/file"), "text");
}

TEST(LocalTar, RefusesAnArchiveThatWasCut) {
  const test::TemporaryFolder top;
  write(top.path() / "file", std::string(100'000, 'x'));
  const std::string archive = pack(top.path() / "file", "file");
  EXPECT_FALSE(unpack(std::string_view{archive}.substr(0, 50'000), {.path = top.path() / "to"}, false));
}

}  // namespace
}  // namespace skiff::container
