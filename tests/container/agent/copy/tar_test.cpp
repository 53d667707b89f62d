#include "container/agent/copy/tar.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "container/agent/copy/pack.hpp"
#include "tests/support/tar_bytes.hpp"
#include "tests/support/temporary_directory.hpp"

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

TEST(LocalTar, CarriesADirectoryWithModesAndLinks) {
  const test::TemporaryDirectory top;
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

TEST(LocalTar, GivesAFileOrDirectoryTheNameThatIsAskedFor) {
  const test::TemporaryDirectory top;
  write(top.path() / "from/file", "text");
  ASSERT_TRUE(unpack(pack(top.path() / "from/file", "other"), {.path = top.path() / "to"}));
  EXPECT_EQ(text_of(top.path() / "to/other"), "text");
  ASSERT_TRUE(unpack(pack(top.path() / "from", "folder"), {.path = top.path() / "to"}));
  EXPECT_EQ(text_of(top.path() / "to/folder/file"), "text");
  ASSERT_TRUE(unpack(pack(top.path() / "from/file", "x"), {.path = top.path() / "single", .is_file = true}));
  EXPECT_EQ(text_of(top.path() / "single"), "text");
}

TEST(LocalTar, GivesTheTimeOfADirectoryToOneThatIsNew) {
  const test::TemporaryDirectory top;
  const std::string archive = test::tar_member("./", '5') + test::tar_member("f", '0', "x") + test::tar_end();
  for (const bool is_new : {true, false}) {
    const files::path to = top.path() / (is_new ? "new" : "old");
    files::create_directory(to);
    files::permissions(to, files::perms{0700});
    const auto summary = unpack(archive, {.path = to, .is_new = is_new});
    ASSERT_TRUE(summary) << summary.error().message;
    EXPECT_EQ(summary->entries, 1U);
    EXPECT_EQ(files::status(to).permissions(), files::perms{0700}) << "a mode is given by the target";
    EXPECT_EQ(files::last_write_time(to) < files::last_write_time(top.path()) - std::chrono::years{10}, is_new);
  }
}

TEST(LocalTar, RefusesEntriesThatLeaveTheTarget) {
  const test::TemporaryDirectory top;
  write(top.path() / "outside/file", "kept");
  const std::string outside = (top.path() / "outside").string();
  const std::vector<std::string> archives{
      test::tar_member("../outside/file", '0', "changed"),
      test::tar_member("a/../../outside/file", '0', "changed"),
      test::tar_member(outside + "/file", '0', "changed"),
      test::tar_member("d", '5') + test::tar_member("link", '2', "", "d") +
          test::tar_member("link/file", '0', "through"),
      test::tar_member("hard", '1', "", outside + "/file") + test::tar_member("hard", '0', "changed"),
      test::tar_member(".", '2', "", outside),
      test::tar_member(".", '0', "in place of the target"),
  };
  for (const std::string& archive : archives) {
    EXPECT_FALSE(unpack(archive + test::tar_end(), {.path = top.path() / "to"})) << archive.substr(0, 60);
    EXPECT_EQ(text_of(outside + "/file"), "kept");
  }
}

TEST(LocalTar, MakesNoLinkThatLeavesTheTarget) {
  const test::TemporaryDirectory top;
  write(top.path() / "outside", "secret");
  const std::vector<std::pair<std::string, std::string>> links{
      {"absolute", (top.path() / "outside").string()},
      {"up", "../outside"},
      {"a/b/far", "../../../outside"},
      {"a/b/hidden", "c/../../../../outside"},
      // Inside word by word; but d leads to the top, from where .. is out.
      {"a/b/by", "d/../outside"},
  };
  std::string archive = test::tar_member("a/", '5') + test::tar_member("a/b/", '5') +
                        test::tar_member("a/b/d", '2', "", "../..") + test::tar_member("good", '2', "", "a/./b") +
                        test::tar_member("a/b/later", '2', "", "../file") + test::tar_member("a/file", '0', "text");
  for (const auto& [name, target] : links) archive += test::tar_member(name, '2', "", target);
  const auto summary = unpack(archive + test::tar_end(), {.path = top.path() / "to"});
  ASSERT_TRUE(summary) << summary.error().message;
  EXPECT_EQ(summary->left_out, links.size());
  EXPECT_EQ(summary->shown.at(1), "up -> ../outside");
  for (const auto& [name, target] : links) {
    EXPECT_FALSE(files::exists(files::symlink_status(top.path() / "to" / name))) << name;
  }
  EXPECT_EQ(files::read_symlink(top.path() / "to/good"), "a/./b");
  EXPECT_EQ(files::read_symlink(top.path() / "to/a/b/d"), "../..");
  EXPECT_EQ(text_of(top.path() / "to/a/b/later"), "text");
}

TEST(LocalTar, MakesNoLinkThatLeavesTheTargetThroughTheUsersOwn) {
  const test::TemporaryDirectory top;
  files::create_directories(top.path() / "to");
  files::create_directory_symlink("..", top.path() / "to/away");
  const auto summary =
      unpack(test::tar_member("link", '2', "", "away/secret") + test::tar_end(), {.path = top.path() / "to"});
  ASSERT_TRUE(summary) << summary.error().message;
  EXPECT_EQ(summary->left_out, 1U);
  EXPECT_FALSE(files::exists(files::symlink_status(top.path() / "to/link")));
}

TEST(LocalTar, MakesAFileAndNothingElseWhereAFileWasAskedFor) {
  const test::TemporaryDirectory top;
  write(top.path() / "to", "before");
  write(top.path() / "secret", "secret");
  const std::vector<std::string> archives{
      test::tar_member("result", '2', "", "secret"),
      test::tar_member("result", '1', "", "secret"),
      test::tar_member("result", '5'),
      test::tar_member("result", '6'),
      test::tar_member("result", '0', "one") + test::tar_member("result", '0', "two"),
      "",
  };
  for (const std::string& archive : archives) {
    EXPECT_FALSE(unpack(archive + test::tar_end(), {.path = top.path() / "to", .is_file = true}));
    EXPECT_TRUE(files::is_regular_file(files::symlink_status(top.path() / "to")));
  }
  EXPECT_EQ(text_of(top.path() / "secret"), "secret");
}

TEST(LocalTar, KeepsHardLinksInside) {
  const test::TemporaryDirectory top;
  const auto first = test::tar_member("a/first", '0', "text");
  const auto second = test::tar_member("second", '1', "", "a/first");
  const auto third = test::tar_member("third", '1', "", "second");
  const auto summary = unpack(first + second + third + test::tar_end(), {.path = top.path() / "to"});
  ASSERT_TRUE(summary) << summary.error().message;
  EXPECT_EQ(text_of(top.path() / "to/third"), "text");
  EXPECT_EQ(files::hard_link_count(top.path() / "to/a/first"), 3U);
  // A second time, over what is there.
  ASSERT_TRUE(unpack(first + second + third + test::tar_end(), {.path = top.path() / "to"}));
  EXPECT_EQ(files::hard_link_count(top.path() / "to/second"), 3U);
}

TEST(LocalTar, MakesHardLinksOnlyToFilesThatCame) {
  const test::TemporaryDirectory top;
  write(top.path() / "to/theirs", "kept");
  const std::vector<std::string> archives{
      test::tar_member("hard", '1', "", "theirs"),
      test::tar_member("hard", '1', "", "../outside"),
      test::tar_member("link", '2', "", "theirs") + test::tar_member("hard", '1', "", "link"),
      test::tar_member("d", '5') + test::tar_member("hard", '1', "", "d"),
      test::tar_member("came", '0', "x") + test::tar_member("came", '2', "", "theirs") +
          test::tar_member("hard", '1', "", "came"),
  };
  for (const std::string& archive : archives) {
    EXPECT_FALSE(unpack(archive + test::tar_end(), {.path = top.path() / "to"}));
    EXPECT_FALSE(files::exists(top.path() / "to/hard"));
  }
  EXPECT_EQ(files::hard_link_count(top.path() / "to/theirs"), 1U);
}

TEST(LocalTar, ReachesItsTargetThroughTheUsersOwnLinks) {
  const test::TemporaryDirectory top;
  files::create_directory(top.path() / "real");
  files::create_directory_symlink("real", top.path() / "link");
  ASSERT_TRUE(unpack(test::tar_member("file", '0', "text") + test::tar_end(), {.path = top.path() / "link/to"}));
  EXPECT_EQ(text_of(top.path() / "real/to/file"), "text");
}

TEST(LocalTar, RefusesAnArchiveThatWasCut) {
  const test::TemporaryDirectory top;
  write(top.path() / "file", std::string(100'000, 'x'));
  const std::string archive = pack(top.path() / "file", "file");
  for (const bool is_told : {true, false}) {
    const auto cut = unpack(std::string_view{archive}.substr(0, 50'000), {.path = top.path() / "to"}, !is_told);
    ASSERT_FALSE(cut);
    EXPECT_TRUE(cut.error().message.starts_with("\"file\" was left out: ")) << cut.error().message;
  }
}

TEST(LocalTar, LeavesNoPartOfAFileOfAnArchiveThatWasCut) {
  const test::TemporaryDirectory top;
  write(top.path() / "from/b", std::string(100'000, 'x'));
  write(top.path() / "to/b", "before");
  const std::string archive = test::tar_member("a", '0', "whole") + pack(top.path() / "from/b", "b");
  EXPECT_FALSE(unpack(std::string_view{archive}.substr(0, 50'000), {.path = top.path() / "to"}, false));
  EXPECT_EQ(text_of(top.path() / "to/a"), "whole");
  EXPECT_EQ(text_of(top.path() / "to/b"), "before");
  EXPECT_EQ(std::distance(files::directory_iterator{top.path() / "to"}, {}), 2);
  const std::string one = pack(top.path() / "from/b", "b").substr(0, 50'000);
  EXPECT_FALSE(unpack(one, {.path = top.path() / "one", .is_file = true}, false));
  EXPECT_FALSE(files::exists(top.path() / "one"));
}

TEST(LocalTar, RefusesAnArchiveThatWasCutBetweenTwoEntries) {
  const test::TemporaryDirectory top;
  const std::string one = test::tar_member("file", '0', "text");
  for (const std::string& archive : {one, std::string{}, one + std::string(512, '\0')}) {
    const auto cut = unpack(archive, {.path = top.path() / "to"});
    ASSERT_FALSE(cut);
    EXPECT_EQ(cut.error().message, "the archive has no end");
  }
}

TEST(LocalTar, MakesDirectoriesThatTheArchiveDoesNotHave) {
  const test::TemporaryDirectory top;
  files::create_directory_symlink("..", top.path() / "away");
  const std::string deep = test::tar_member("a/b/file", '0', "text") + test::tar_member("a/other", '0', "more");
  ASSERT_TRUE(unpack(deep + test::tar_end(), {.path = top.path() / "to"}));
  EXPECT_EQ(text_of(top.path() / "to/a/b/file"), "text");
  EXPECT_EQ(text_of(top.path() / "to/a/other"), "more");
  files::create_directory_symlink("../..", top.path() / "to/way");
  for (const char* name : {"way/file", "way/new/file"}) {
    EXPECT_FALSE(unpack(test::tar_member(name, '0', "x") + test::tar_end(), {.path = top.path() / "to"})) << name;
  }
  // A directory that becomes a link in the middle of the archive.
  EXPECT_FALSE(unpack(test::tar_member("d/one", '0', "x") + test::tar_member("e", '5') +
                          test::tar_member("e", '2', "", "d") + test::tar_member("e/two", '0', "x") + test::tar_end(),
                      {.path = top.path() / "to"}));
  EXPECT_FALSE(files::exists(top.path() / "to/d/two"));
}

TEST(LocalTar, MakesHolesOfZerosAndKeepsTimesAndStickyBits) {
  const test::TemporaryDirectory top;
  write(top.path() / "from/drop/file", std::string(3'000'000, '\0') + "end");
  files::permissions(top.path() / "from/drop", files::perms{01777});
  struct stat before{};
  ASSERT_EQ(::lstat((top.path() / "from/drop/file").c_str(), &before), 0);
  ASSERT_TRUE(unpack(pack(top.path() / "from", "."), {.path = top.path() / "to"}));
  struct stat after{};
  ASSERT_EQ(::lstat((top.path() / "to/drop/file").c_str(), &after), 0);
  EXPECT_EQ(after.st_size, 3'000'003);
  EXPECT_LT(after.st_blocks * 512, 2'000'000);
  EXPECT_EQ(after.st_mtim.tv_nsec, before.st_mtim.tv_nsec);
  EXPECT_EQ(files::status(top.path() / "to/drop").permissions(), files::perms{01777});
}

TEST(LocalTar, ReadsWhatIsBehindTheEnd) {
  const test::TemporaryDirectory top;
  std::vector<std::string> blocks{test::tar_member("file", '0', "text") + test::tar_end(), "more", "and more"};
  std::size_t next = 0;
  const auto summary = unpack_tar(
      [&](std::span<char> into) -> std::optional<std::size_t> {
        if (next == blocks.size()) return 0;
        const std::string& block = blocks[next++];
        std::memcpy(into.data(), block.data(), block.size());
        return block.size();
      },
      {.path = top.path() / "to"});
  ASSERT_TRUE(summary) << summary.error().message;
  EXPECT_EQ(next, blocks.size());
}

}  // namespace
}  // namespace skiff::container
