#include "fs/archive/extract.hpp"

#include <sys/stat.h>

#include <string>

#include <gtest/gtest.h>

#include "fs/archive/archive.hpp"
#include "tests/support/scratch_tree.hpp"
#include "tests/support/tar_bytes.hpp"

namespace skiff::fs {
namespace {

using test::pax;
using test::tar_end;
using test::tar_member;

Result<ExtractSummary> extract(const test::ScratchTree& tree, const std::string& bytes,
                               const ExtractOptions& options = {}) {
  return extract_archive(tree.open(), test::source_of(bytes, 100'000), options, {});
}

std::string packed(Compression kind, std::string_view text) {
  std::string out;
  Compressor compressor{kind, [&out](std::string_view bytes) {
                          out += bytes;
                          return true;
                        }};
  EXPECT_TRUE(compressor.write(text));
  EXPECT_TRUE(compressor.finish());
  return out;
}

struct stat status(const test::ScratchTree& tree, const std::string& name) {
  struct stat info{};
  EXPECT_EQ(::lstat((tree / name).c_str(), &info), 0) << name;
  return info;
}

bool is_empty(const test::ScratchTree& tree) {
  return std::filesystem::is_empty(tree.path());
}

TEST(Extract, UnpacksWhatTarWroteInEachFormat) {
  const test::ScratchTree from;
  from.write("in/file", "content");
  from.write("in/dir/sub/x", std::string(300'000, 'x'));
  from.write("in/\xC3\xBCml\xFF", "bytes");
  from.write("in/" + std::string(90, 'd') + "/" + std::string(200, 'n'), "long");
  from.link("in/dangling", "/nowhere");
  from.link("in/" + std::string(150, 'l'), std::string(250, 't'));
  std::filesystem::create_hard_link(from / "in/file", from / "in/hard");
  ASSERT_EQ(from.shell("cd in && chmod 751 file && touch -d '2001-02-03 04:05:06' file && chmod 500 dir/sub"
                       " && touch -d '2002-02-03 04:05:06' dir"),
            0);
  for (const std::string format : {"--format=pax", "--format=gnu", "--format=posix -z", "--format=gnu --zstd"}) {
    ASSERT_EQ(from.shell("tar -c " + format + " -C in -f a.tar ."), 0);
    const test::ScratchTree to;
    const auto done = extract(to, from.read("a.tar"));
    ASSERT_TRUE(done) << format << ": " << done.error().message;
    EXPECT_EQ(from.shell("diff -r --no-dereference in '" + to.path().string() + "'"), 0) << format;
    EXPECT_EQ(status(to, "file").st_mode & 07777U, 0751U);
    EXPECT_EQ(status(to, "file").st_mtim.tv_sec, 981173106);
    EXPECT_EQ(status(to, "hard").st_ino, status(to, "file").st_ino);
    EXPECT_EQ(status(to, "dir").st_mtim.tv_sec, 1012709106);
    EXPECT_EQ(status(to, "dir/sub").st_mode & 07777U, 0500U);
    EXPECT_EQ(to.shell("chmod 700 dir/sub"), 0);
  }
  EXPECT_EQ(from.shell("chmod 700 in/dir/sub"), 0);
}

TEST(Extract, UnpacksWhatArchiveWrote) {
  const test::ScratchTree from;
  for (int i = 0; i < 60; ++i)
    from.write("d" + std::to_string(i % 7) + "/f" + std::to_string(i),
               std::string(static_cast<std::size_t>(i) * 511, 'y'));
  for (const Compression kind : {Compression::none, Compression::gzip, Compression::zstd}) {
    std::string bytes;
    const auto made = write_archive(from.open(), {.compression = kind}, {}, [&](std::string_view part) {
      bytes += part;
      return true;
    });
    ASSERT_TRUE(made);
    const test::ScratchTree to;
    const auto done = extract(to, bytes);
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(done->entries, made->entries);
    EXPECT_EQ(done->bytes, made->bytes);
    EXPECT_EQ(from.shell("diff -r . '" + to.path().string() + "'"), 0);
    EXPECT_EQ(status(to, "d3/f3").st_mtim.tv_nsec, status(from, "d3/f3").st_mtim.tv_nsec);
  }
}

TEST(Extract, WritesNothingOfAnArchiveThatItRefuses) {
  const std::string good = tar_member("good/file", '0', "x");
  const struct {
    std::string bytes;
    Errc code;
  } cases[] = {
      {good + tar_member("../evil", '0', "x") + tar_end(), Errc::path_escapes_root},
      {good + tar_member("/tmp/evil", '0', "x") + tar_end(), Errc::path_escapes_root},
      {good + tar_member("a/../../evil") + tar_end(), Errc::path_escapes_root},
      {good + tar_member("x", 'x', pax("path", "../evil")) + tar_member("fine") + tar_end(), Errc::path_escapes_root},
      {good + tar_member("l", 'L', "../evil") + tar_member("fine") + tar_end(), Errc::path_escapes_root},
      {good + tar_member("out", '2', "", "/tmp") + tar_member("out/evil", '0', "x") + tar_end(),
       Errc::path_escapes_root},
      {good + tar_member("hard", '1', "", "/etc/passwd") + tar_end(), Errc::path_escapes_root},
      {good + tar_member("hard", '1', "", "not/there") + tar_end(), Errc::malformed_archive},
      {good + tar_member("device", '3') + tar_end(), Errc::not_a_regular_file},
      {good + tar_member("fifo", '6') + tar_end(), Errc::not_a_regular_file},
      {good + tar_member("good/file/x") + tar_end(), Errc::malformed_archive},
      {good, Errc::malformed_archive},
      {good + tar_member("cut", '0', "content").substr(0, 515), Errc::malformed_archive},
      {"", Errc::malformed_archive},
      {"{\"json\": true}", Errc::malformed_archive},
      {packed(Compression::gzip, "no tar"), Errc::malformed_archive},
      {packed(Compression::zstd, good + tar_end()).substr(0, 50), Errc::malformed_archive},
  };
  for (const auto& one : cases) {
    const test::ScratchTree tree;
    const auto done = extract(tree, one.bytes);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, one.code) << done.error().message;
    EXPECT_TRUE(is_empty(tree)) << done.error().message;
  }
}

TEST(Extract, RefusesBombsBeforeUnpackingThem) {
  const test::ScratchTree tree;
  const std::string member = tar_member("zeros", '0', std::string(50 << 20, '\0'));
  const ExtractOptions few{.most_bytes = 1 << 20, .most_entries = 100};
  for (const Compression kind : {Compression::none, Compression::gzip, Compression::zstd}) {
    const auto done = extract(tree, packed(kind, member + tar_end()), few);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, Errc::payload_too_large);
    // Put bytes after the end mark, where no member declares their size.
    const auto behind = extract(tree, packed(kind, tar_end() + member), few);
    ASSERT_FALSE(behind);
    EXPECT_EQ(behind.error().code, Errc::payload_too_large);
  }
  std::string many;
  for (int i = 0; i < 101; ++i) many += tar_member(std::to_string(i));
  EXPECT_EQ(extract(tree, packed(Compression::gzip, many + tar_end()), few).error().code, Errc::payload_too_large);
  std::string huge = tar_member("x", 'x', pax("size", "1000000000000000")) + tar_member("huge") + tar_end();
  EXPECT_FALSE(extract(tree, huge, {.most_bytes = ~std::uint64_t{0} >> 8U}));
  EXPECT_TRUE(is_empty(tree));
}

TEST(Extract, FollowsNoLinkOnDisk) {
  const test::ScratchTree outside, tree;
  outside.write("file", "untouched");
  tree.link("way", outside.path().string());
  tree.link("file", (outside / "file").string());
  auto done = extract(tree, tar_member("way/evil", '0', "x") + tar_end());
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Errc::path_escapes_root);
  EXPECT_FALSE(std::filesystem::exists(outside / "evil"));
  // A file in the archive replaces a link on disk.
  done = extract(tree, tar_member("file", '0', "new") + tar_end());
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(outside.read("file"), "untouched");
  EXPECT_EQ(tree.read("file"), "new");
  EXPECT_TRUE(S_ISREG(status(tree, "file").st_mode));
}

TEST(Extract, ReplacesFilesAndKeepsDirectories) {
  const test::ScratchTree tree;
  tree.write("dir/old", "stays");
  tree.write("dir/file", "longer than before");
  ASSERT_TRUE(extract(tree, tar_member("dir/", '5') + tar_member("dir/file", '0', "new") + tar_end()));
  EXPECT_EQ(tree.read("dir/file"), "new");
  EXPECT_EQ(tree.read("dir/old"), "stays");
  ASSERT_TRUE(extract(tree, tar_member("dir/file", '0', "1") + tar_member("dir/file", '0', "2") + tar_end()));
  EXPECT_EQ(tree.read("dir/file"), "2") << "the last of a name counts";
}

TEST(Extract, UnpacksLargeFilesAmongSmallOnes) {
  const test::ScratchTree from;
  const std::string large = std::string(1'500'000, 'a') + std::string(700'000, '\0') + "end";
  from.write("in/a", "small");
  from.write("in/b", large);
  from.write("in/c", "small, too");
  from.write("in/sub/deep/d", large + "d");
  from.write("in/sub/e", std::string(3'000'000, '\0'));
  std::filesystem::create_hard_link(from / "in/b", from / "in/hard");
  ASSERT_EQ(from.shell("cd in && chmod 640 b && touch -d '2001-02-03 04:05:06.789' b"), 0);
  for (const std::string format : {"", "-S", "-z"}) {
    ASSERT_EQ(from.shell("tar -c " + format + " --format=pax --sort=name -C in -f a.tar ."), 0);
    const test::ScratchTree to;
    to.write("b", "before");
    to.write("sub/e", "before");
    const auto done = extract(to, from.read("a.tar"));
    ASSERT_TRUE(done) << format << ": " << done.error().message;
    EXPECT_EQ(from.shell("diff -r in '" + to.path().string() + "'"), 0) << format;
    EXPECT_EQ(status(to, "b").st_mode & 07777U, 0640U);
    EXPECT_EQ(status(to, "b").st_mtim.tv_nsec, 789'000'000);
    EXPECT_EQ(status(to, "b").st_ino, status(to, "hard").st_ino);
    EXPECT_LT(status(to, "sub/e").st_blocks, 100) << "zeros are a hole";
    EXPECT_LT(status(to, "b").st_blocks * 512, 1'700'000);
  }
}

TEST(Extract, KeepsTheLastOfTwoLargeFilesOfOneName) {
  const test::ScratchTree tree;
  const std::string first(2'000'000, '1');
  const std::string second(3'000'000, '2');
  ASSERT_TRUE(extract(tree, tar_member("f", '0', first) + tar_member("f", '0', second) + tar_end()));
  EXPECT_TRUE(tree.read("f") == second);
  ASSERT_TRUE(extract(tree, tar_member("f", '0', first) + tar_member("f", '0', "small") + tar_end()));
  EXPECT_EQ(tree.read("f"), "small");
}

TEST(Extract, UnpacksMoreLargeFilesThanItSetsAside) {
  const test::ScratchTree tree;
  std::string bytes;
  const std::string large(std::size_t{1} << 20U, 'x');
  for (int i = 0; i < 70; ++i) bytes += tar_member("f" + std::to_string(i), '0', large + std::to_string(i));
  const auto done = extract(tree, bytes + tar_end());
  ASSERT_TRUE(done) << done.error().message;
  for (int i = 0; i < 70; ++i) EXPECT_TRUE(tree.read("f" + std::to_string(i)) == large + std::to_string(i)) << i;
}

TEST(Extract, LeavesNothingOfLargeFilesOfAnArchiveThatItRefuses) {
  const test::ScratchTree tree;
  const std::string large = tar_member("large", '0', std::string(2'000'000, 'x'));
  EXPECT_FALSE(extract(tree, large + tar_member("../evil", '0', "x") + tar_end()));
  EXPECT_FALSE(extract(tree, large));
  EXPECT_FALSE(extract(tree, large.substr(0, 1'500'000)));
  EXPECT_TRUE(is_empty(tree));
}

TEST(Extract, ReceivesAlsoAnArchiveThatItRefusesWhole) {
  const test::ScratchTree tree;
  std::string_view left;
  const std::string bytes =
      tar_member("../evil", '0', "x") + tar_member("f", '0', std::string(3'000'000, 'x')) + tar_end();
  left = bytes;
  const auto source = [&left](std::span<char> into) -> Result<std::size_t> {
    const std::size_t size = std::min(into.size(), left.size());
    left.copy(into.data(), size);
    left.remove_prefix(size);
    return size;
  };
  const auto done = extract_archive(tree.open(), source, {}, {});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Errc::path_escapes_root);
  EXPECT_TRUE(left.empty()) << "a sender that is still writing would not read the answer";
  EXPECT_TRUE(is_empty(tree));
}

TEST(Extract, DropsSetIdBitsUnlessTold) {
  std::string member = tar_member("tool", '0', "x");
  member.replace(100, 7, "0006755");
  unsigned sum = 0;
  member.replace(148, 8, "        ");
  for (std::size_t i = 0; i < 512; ++i) sum += static_cast<unsigned char>(member[i]);
  char digits[8];
  std::snprintf(digits, sizeof digits, "%06o", sum);
  member.replace(148, 7, digits, 7);
  const test::ScratchTree tree;
  ASSERT_TRUE(extract(tree, member + tar_end()));
  EXPECT_EQ(status(tree, "tool").st_mode & 07777U, 0755U);
  ASSERT_TRUE(extract(tree, member + tar_end(), {.keep_set_id = true}));
  EXPECT_EQ(status(tree, "tool").st_mode & 07777U, 06755U);
}

TEST(Extract, StopsAndPassesOnFailuresOfTheSource) {
  const test::ScratchTree tree;
  const std::string bytes = tar_member("a", '0', "x") + tar_end();
  const auto broken =
      [&, part = std::string_view{bytes}.substr(0, 600)](std::span<char> into) mutable -> Result<std::size_t> {
    if (part.empty()) return fail(Errc::cancelled, "the connection is gone");
    const std::size_t size = std::min(into.size(), part.size());
    part.copy(into.data(), size);
    part.remove_prefix(size);
    return size;
  };
  EXPECT_EQ(extract_archive(tree.open(), broken, {}, {}).error().code, Errc::cancelled);
  std::stop_source source;
  source.request_stop();
  EXPECT_EQ(extract_archive(tree.open(), test::source_of(bytes), {}, source.get_token()).error().code, Errc::cancelled);
  EXPECT_TRUE(is_empty(tree));
}

}  // namespace
}  // namespace skiff::fs
