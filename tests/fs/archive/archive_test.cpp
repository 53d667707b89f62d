#include "fs/archive/archive.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <string>

#include <gtest/gtest.h>

#include "fs/archive/tar.hpp"
#include "tests/support/scratch_tree.hpp"

namespace skiff::fs {
namespace {

struct WrittenArchive {
  std::string bytes;
  ArchiveSummary summary;
};

Result<WrittenArchive> archive(const test::ScratchTree& tree, const ArchiveOptions& options = {}) {
  WrittenArchive written;
  const auto summary = write_archive(tree.open(), options, {}, [&](std::string_view bytes) {
    written.bytes += bytes;
    return true;
  });
  if (!summary) return std::unexpected{summary.error()};
  written.summary = *summary;
  return written;
}

/// The names in the archive, as `tar` lists them, one a line.
std::string listed(const std::string& bytes, const std::string& flags = "") {
  const test::ScratchTree box;
  box.write("a.tar", bytes);
  EXPECT_EQ(box.shell("tar t" + flags + "f a.tar >list 2>errors"), 0) << box.read("errors");
  EXPECT_EQ(box.read("errors"), "");
  return box.read("list");
}

void fill(const test::ScratchTree& tree) {
  tree.write("a file", "content");
  tree.write("dir/.hidden", "h");
  tree.write("dir/sub/large", std::string(700'000, 'z'));
  tree.write("\xC3\xBCml\xFF", "bytes");
  tree.write(std::string(90, 'd') + "/" + std::string(200, 'n'), "long");
  tree.link("dangling", "/nowhere/at/all");
  std::filesystem::create_hard_link(tree / "a file", tree / "b hard");
  EXPECT_EQ(tree.shell("chmod 4751 dir/.hidden && chmod 1770 dir && touch -d '2001-02-03 04:05:06.789' dir/sub/large"),
            0);
}

TEST(Archive, IsReadByTarInEachCompression) {
  const test::ScratchTree tree;
  fill(tree);
  for (const Compression compression : {Compression::none, Compression::gzip, Compression::zstd}) {
    const auto written = archive(tree, {.compression = compression});
    ASSERT_TRUE(written) << written.error().message;
    EXPECT_EQ(written->summary.entries, 10U);
    const test::ScratchTree out;
    out.write("a.tar", written->bytes);
    ASSERT_EQ(out.shell("mkdir x && tar -x -p -C x -f a.tar 2>errors"), 0) << out.read("errors");
    EXPECT_EQ(out.read("errors"), "");
    EXPECT_EQ(out.shell("diff -r --no-dereference '" + tree.path().string() + "' x"), 0);
    ASSERT_EQ(out.shell("cd x && find . -mindepth 1 -printf '%P %m %s %T@ %n\\n' >../listing"), 0);
    const std::string found = out.read("listing");
    EXPECT_TRUE(found.contains("dir/sub/large 644 700000 981173106.7890000000 1")) << found;
    EXPECT_TRUE(found.contains("dir/.hidden 4751 1 ")) << found;
    EXPECT_TRUE(found.contains("dir 1770 ")) << found;
    EXPECT_TRUE(found.contains("b hard 644 7 ")) << found;
    EXPECT_EQ(std::filesystem::hard_link_count(out / "x/b hard"), 2U);
  }
}

TEST(Archive, TakesAListOfPaths) {
  const test::ScratchTree tree;
  fill(tree);
  auto written = archive(tree, {.paths = {"dir/sub", "dangling", "./a file"}});
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(listed(written->bytes), "dir/sub/\ndir/sub/large\ndangling\na file\n");
  EXPECT_EQ(archive(tree, {.paths = {"a file", "none"}}).error().code, Errc::path_not_found);
  EXPECT_EQ(archive(tree, {.paths = {"../x"}}).error().code, Errc::path_escapes_root);
  EXPECT_EQ(archive(tree, {.paths = {"/etc"}}).error().code, Errc::path_escapes_root);
  tree.link("way", "/etc");
  EXPECT_EQ(archive(tree, {.paths = {"way/passwd"}}).error().code, Errc::path_escapes_root);
  written = archive(tree, {.paths = {"way"}});
  ASSERT_TRUE(written);
  EXPECT_EQ(listed(written->bytes), "way\n");
}

TEST(Archive, SkipsFifosAndSockets) {
  const test::ScratchTree tree;
  tree.write("file");
  ASSERT_EQ(tree.shell("mkfifo fifo"), 0);
  const UniqueFd socket{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = tree / "socket";
  ASSERT_LT(path.size(), sizeof address.sun_path);
  path.copy(address.sun_path, path.size());
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  const auto written = archive(tree);
  ASSERT_TRUE(written);
  EXPECT_EQ(written->summary.special, 2U);
  EXPECT_EQ(listed(written->bytes), "file\n");
}

TEST(Archive, IsValidForAnEmptyDirectory) {
  const test::ScratchTree tree;
  const auto written = archive(tree);
  ASSERT_TRUE(written);
  EXPECT_EQ(written->summary.entries, 0U);
  EXPECT_EQ(written->bytes, std::string(1024, '\0'));
}

TEST(Archive, BeginsWithTheDirectoryItselfIfRequested) {
  const test::ScratchTree tree;
  fill(tree);
  auto written = archive(tree, {.with_itself = true});
  ASSERT_TRUE(written);
  EXPECT_TRUE(listed(written->bytes).starts_with("./\na file\n"));
  written = archive(tree, {.paths = {"dir"}, .with_itself = true});
  ASSERT_TRUE(written);
  EXPECT_TRUE(listed(written->bytes).starts_with("dir/\n"));
}

TEST(Archive, StopsWhenTheSinkOrTheTokenDoes) {
  const test::ScratchTree tree;
  fill(tree);
  int calls = 0;
  auto written = write_archive(tree.open(), {}, {}, [&](std::string_view) { return ++calls < 3; });
  EXPECT_EQ(written.error().code, Errc::cancelled);
  EXPECT_EQ(calls, 3);
  std::stop_source source;
  source.request_stop();
  written = write_archive(tree.open(), {}, source.get_token(), [](std::string_view) { return true; });
  EXPECT_EQ(written.error().code, Errc::cancelled);
}

}  // namespace
}  // namespace skiff::fs
