#include "container/changes/compare.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include "tests/container/changes/layered.hpp"

namespace skiff::container::changes {
namespace {

class CompareTest : public Layered {};

TEST_F(CompareTest, TellsWhatIsAddedChangedAndDeleted) {
  write(under / "changed", "old");
  write(under / "deleted", "old");
  write(under / "same", "same");
  write(under / "gone/a/b", "x");
  write(layer / "added", "new");
  write(layer / "changed", "new");
  write(layer / "same", "same");
  write(layer / "new/file", "x");
  whiteout("deleted");
  whiteout("gone");
  whiteout("never-was-there");
  EXPECT_EQ(changes(), (Lines{"A added", "M changed", "D deleted", "D gone/", "A new/", "A new/file"}));
}

TEST_F(CompareTest, ComparesModesTypesAndLinks) {
  write(under / "tool", "x");
  write(under / "file", "x");
  write(under / "dir/x", "x");
  std::filesystem::create_symlink("one", under / "link");
  std::filesystem::create_symlink("one", under / "same-link");
  write(layer / "tool", "x");
  ::chmod((layer / "tool").c_str(), 0755);
  write(layer / "file/x", "x");
  write(layer / "dir", "x");
  std::filesystem::create_symlink("other", layer / "link");
  std::filesystem::create_symlink("one", layer / "same-link");
  EXPECT_EQ(changes(), (Lines{"M dir", "M file/", "A file/x", "M link", "M tool"}));
  EXPECT_EQ(find().changes[3].target, "other");
}

TEST_F(CompareTest, IgnoresSetIdBitsAndTimes) {
  write(under / "tool", "x");
  ::chmod((under / "tool").c_str(), 04755);
  write(layer / "tool", "x");
  ::chmod((layer / "tool").c_str(), 0755);
  EXPECT_EQ(changes(), Lines{});
}

TEST_F(CompareTest, IgnoresWhetherOthersMayWrite) {
  for (const std::string name : {"opened", "closed", "readable"}) {
    write(under / name / "x", "x");
    write(layer / name / "x", "x");
    for (const std::string& path : {name, name + "/x"}) {
      ::chmod((under / path).c_str(), name == "closed" ? 0777 : 0755);
      ::chmod((layer / path).c_str(), name == "opened" ? 0777 : 0755);
    }
  }
  ::chmod((layer / "readable").c_str(), 0751);
  EXPECT_EQ(changes(), Lines{"M readable/"});
}

TEST_F(CompareTest, SeesNothingThroughAnOpaqueDirectory) {
  write(under / "d/kept", "x");
  write(under / "d/gone", "x");
  write(under / "d/inner/gone", "x");
  write(layer / "d/kept", "x");
  write(layer / "d/new", "x");
  write(layer / "d/inner/new", "x");
  mark("d", "user.overlay.opaque", "y");
  EXPECT_EQ(changes(), (Lines{"D d/gone", "D d/inner/gone", "A d/inner/new", "A d/new"}));
  EXPECT_EQ(changes({"d/inner"}), (Lines{"D d/inner/gone", "A d/inner/new"}));
}

TEST_F(CompareTest, KnowsWhiteoutsByAttribute) {
  write(under / "d/gone", "x");
  write(under / "d/empty", "x");
  write(layer / "d/gone", "");
  write(layer / "d/empty", "");
  mark("d", "user.overlay.opaque", "x");
  mark("d/gone", "user.overlay.whiteout", "");
  EXPECT_EQ(changes(), (Lines{"M d/empty", "D d/gone"}));
}

TEST_F(CompareTest, TakesPathsThatAreNamed) {
  write(under / "gone/a/b", "x");
  whiteout("gone");
  write(layer / "src/a", "x");
  write(layer / "src2/a", "x");
  EXPECT_EQ(changes({"src"}), (Lines{"A src/", "A src/a"}));
  EXPECT_EQ(changes({"src/a"}), (Lines{"A src/a"}));
  EXPECT_EQ(changes({"gone/a"}), (Lines{"D gone/a/"}));
  EXPECT_EQ(changes({"gone/a/b", "src2"}), (Lines{"D gone/a/b", "A src2/", "A src2/a"}));
  EXPECT_EQ(test::word(compare(workspace(), {"nothing"})), "path_not_found");
}

TEST_F(CompareTest, ReadsPathsOfAnyForm) {
  for (const std::string& path :
       {std::string{"a/b"}, std::string{"./a//b/"}, std::string{"/workspace/a/b"}, (under / "a/b").string()}) {
    EXPECT_EQ(relative_path(mount(), path).value_or("error"), "a/b") << path;
  }
  EXPECT_EQ(relative_path(mount(), "/workspace").value_or("error"), "");
  EXPECT_EQ(test::word(relative_path(mount(), "/workspace2/a")), "path_escapes_root");
  EXPECT_EQ(test::word(relative_path(mount(), "../a")), "path_escapes_root");
  EXPECT_EQ(test::word(relative_path(mount(), "/workspace/../etc")), "path_escapes_root");
}

TEST_F(CompareTest, SpecialFilesAreToldAndNotOpened) {
  ASSERT_EQ(::mkfifo((layer / "fifo").c_str(), 0600), 0);
  write(under / "was-file", "");
  ASSERT_EQ(::mkfifo((layer / "was-file").c_str(), 0644), 0);
  EXPECT_EQ(changes(), (Lines{"A fifo", "M was-file"}));
}

TEST_F(CompareTest, NamesAreAnyBytes) {
  const std::string name = "a\n\x1b[31m\xff";
  write(layer / name, "x");
  EXPECT_EQ(changes(), (Lines{"A " + name}));
}

TEST_F(CompareTest, DeepTreesNeedNoDescriptors) {
  std::filesystem::path path = layer;
  for (int i = 0; i < 700; ++i) path /= "d";
  std::filesystem::create_directories(path);
  const std::size_t before = test::open_descriptors();
  EXPECT_EQ(changes().size(), 700U);
  EXPECT_EQ(test::open_descriptors(), before);
}

TEST_F(CompareTest, TooDeepTreesAreLeftOutAndTold) {
  const int start = ::open(layer.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  const std::string name(200, 'd');
  int at = ::dup(start);
  for (int i = 0; i < 30; ++i) {
    ASSERT_EQ(::mkdirat(at, name.c_str(), 0700), 0);
    const int next = ::openat(at, name.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    ::close(at);
    at = next;
  }
  ::close(at);
  ::close(start);
  const Found found = find();
  ASSERT_EQ(found.left_out.size(), 1U);
  EXPECT_EQ(found.left_out[0].why, Why::unreadable);
}

TEST_F(CompareTest, HugeFilesWithHolesAreComparedByTheirData) {
  for (const auto& file : {under / "huge", layer / "huge"}) {
    write(file, "begin");
    ASSERT_EQ(::truncate(file.c_str(), std::int64_t{1} << 40), 0);
  }
  EXPECT_EQ(changes(), Lines{});
}

TEST_F(CompareTest, FilesThatCannotBeReadAreLeftOutAndTold) {
  if (::geteuid() == 0) GTEST_SKIP() << "not run: root reads every file";
  write(under / "file", "x");
  write(layer / "file", "y");
  write(layer / "dir/x", "y");
  ::chmod((layer / "file").c_str(), 0);
  ::chmod((under / "file").c_str(), 0);
  ::chmod((layer / "dir").c_str(), 0);
  EXPECT_EQ(reasons(find().left_out), (Reasons{{"dir", "unreadable"}, {"file", "unreadable"}}));
  ::chmod((layer / "dir").c_str(), 0700);
}

TEST_F(CompareTest, StopsWhenAsked) {
  write(layer / "a", "x");
  std::stop_source source;
  source.request_stop();
  EXPECT_EQ(test::word(compare(workspace(), {}, source.get_token())), "cancelled");
}

}  // namespace
}  // namespace skiff::container::changes
