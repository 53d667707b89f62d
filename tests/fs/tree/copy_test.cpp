#include "fs/tree/copy.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fs/content/entry.hpp"
#include "tests/support/files_test.hpp"
#include "tests/support/in_child.hpp"

namespace skiff::fs {
namespace {

using test::get;
using test::put;
using test::word;

class CopyTreeTest : public test::Files {
 public:
  UniqueFd directory{::open(root.c_str(), O_PATH | O_CLOEXEC)};

  std::string copy(const std::string& from, const std::string& to, Keep keep = Keep::mode) const {
    const UniqueFd object{::openat(directory.get(), from.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC)};
    return word(copy_tree(object.get(), from, directory.get(), to, keep));
  }
  Entry entry(const std::string& name) const { return entry_at(directory.get(), name.c_str()).value(); }
  std::string copied_bytes(const std::string& from) const {
    const UniqueFd in{::open(from.c_str(), O_RDONLY | O_CLOEXEC)};
    const UniqueFd out{::open((root / "out").c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)};
    EXPECT_EQ(word(copy_bytes(in.get(), out.get())), "ok");
    return get(root / "out");
  }
};

TEST_F(CopyTreeTest, CopiesBytesOfAnyNumber) {
  for (const std::size_t size : {0U, 1U, 4096U, 300'000U, 5'000'001U}) {
    std::string bytes(size, 'x');
    for (std::size_t i = 0; i < size; i += 997) bytes[i] = static_cast<char>(i);
    put(root / "in", bytes);
    EXPECT_EQ(copied_bytes(root / "in"), bytes) << size;
  }
  EXPECT_NE(copied_bytes("/proc/self/status").find("Pid:"), std::string::npos) << "a file that says it is empty";
}

TEST_F(CopyTreeTest, CopiesBytesAlsoWhereTheKernelDoesNotDoIt) {
  const std::string bytes = std::string(700'000, 'x') + "end";
  put(root / "in", bytes);
  for (const int error : {ENOSYS, EXDEV, EPERM}) {
    test::expect_without([&] { EXPECT_EQ(copied_bytes(root / "in"), bytes); }, SYS_copy_file_range, error);
  }
}

TEST_F(CopyTreeTest, CopiesNothingOfTheKernelsThatIsPrivate) {
  for (const char* path : {"/proc/self/environ", "/proc/thread-self/maps", "/proc/self/stat"}) {
    const UniqueFd object{::open(path, O_PATH | O_CLOEXEC)};
    EXPECT_EQ(word(copy_tree(object.get(), path, directory.get(), "out", Keep::mode)), "permission_denied") << path;
    EXPECT_FALSE(std::filesystem::exists(root / "out")) << path;
  }
  EXPECT_EQ(copy("/proc/version", "out"), "ok");
  EXPECT_EQ(get(root / "out"), get("/proc/version"));
}

TEST_F(CopyTreeTest, StopsWhenRequested) {
  std::filesystem::create_directories(root / "from/inside");
  put(root / "from/inside/f", "x");
  std::stop_source source;
  source.request_stop();
  const UniqueFd object{::open((root / "from").c_str(), O_PATH | O_CLOEXEC)};
  EXPECT_EQ(word(copy_tree(object.get(), "from", directory.get(), "to", Keep::mode, source.get_token())), "cancelled");
  EXPECT_FALSE(std::filesystem::exists(root / "to"));
  put(root / "large", std::string(300'000, 'x'));
  const UniqueFd in{::open((root / "large").c_str(), O_RDONLY | O_CLOEXEC)};
  const UniqueFd out{::open((root / "out").c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)};
  const std::string outcome = word(copy_bytes(in.get(), out.get(), source.get_token()));
  EXPECT_TRUE(outcome == "cancelled" || outcome == "ok") << outcome;  // ok: one call shares all of it
}

TEST_F(CopyTreeTest, LeavesHolesOut) {
  put(root / "in", "begin");
  {
    const UniqueFd file{::open((root / "in").c_str(), O_WRONLY | O_CLOEXEC)};
    ASSERT_EQ(::pwrite(file.get(), "middle", 6, 1 << 30), 6);
    ASSERT_EQ(::ftruncate(file.get(), off_t{1} << 40), 0);
  }
  ASSERT_EQ(copy("in", "out"), "ok");
  struct stat status{};
  ASSERT_EQ(::stat((root / "out").c_str(), &status), 0);
  EXPECT_EQ(status.st_size, off_t{1} << 40);
  EXPECT_LT(status.st_blocks, 1000);
  const UniqueFd file{::open((root / "out").c_str(), O_RDONLY | O_CLOEXEC)};
  char text[6];
  ASSERT_EQ(::pread(file.get(), text, sizeof text, 1 << 30), 6);
  EXPECT_EQ((std::string_view{text, 6}), "middle");
}

TEST_F(CopyTreeTest, CopiesATreeWithItsModesAndLinks) {
  std::filesystem::create_directories(root / "a/b/empty");
  put(root / "a/f", "content");
  put(root / "a/b/program", "#!");
  ASSERT_EQ(::chmod((root / "a/b/program").c_str(), 04755), 0);
  ASSERT_EQ(::chmod((root / "a/b").c_str(), 0550), 0);
  std::filesystem::create_symlink("../../outside/secret", root / "a/link");
  std::filesystem::create_symlink("nowhere", root / "a/dangling");
  ASSERT_EQ(copy("a", "z"), "ok");
  EXPECT_EQ(get(root / "z/f"), "content");
  EXPECT_EQ(entry("z/b/program").mode, 0755U) << "without the set-id bit";
  EXPECT_EQ(entry("z/b").mode, 0550U);
  EXPECT_TRUE(std::filesystem::is_directory(root / "z/b/empty"));
  EXPECT_EQ(entry("z/link").target, "../../outside/secret");
  EXPECT_EQ(entry("z/dangling").target, "nowhere");
  ::chmod((root / "a/b").c_str(), 0755);
  ::chmod((root / "z/b").c_str(), 0755);
}

TEST_F(CopyTreeTest, KeepsEverythingForAMove) {
  put(root / "f", "x");
  ASSERT_EQ(::chmod((root / "f").c_str(), 04750), 0);
  const std::array<timespec, 2> times{timespec{.tv_sec = 1, .tv_nsec = 2}, timespec{.tv_sec = 1'000, .tv_nsec = 5}};
  ASSERT_EQ(::utimensat(AT_FDCWD, (root / "f").c_str(), times.data(), 0), 0);
  ASSERT_EQ(copy("f", "g", Keep::everything), "ok");
  EXPECT_EQ(entry("g").mode, 04750U);
  EXPECT_EQ(entry("g").modified, entry("f").modified);
}

TEST_F(CopyTreeTest, CountsWhatIsNeitherFileDirectoryNorLink) {
  std::filesystem::create_directories(root / "a/b");
  put(root / "a/f", "x");
  ASSERT_EQ(::mkfifo((root / "a/b/fifo").c_str(), 0600), 0);
  ASSERT_EQ(::mkfifo((root / "a/fifo").c_str(), 0600), 0);
  EXPECT_EQ(copy("a/fifo", "z"), "not_a_regular_file");
  EXPECT_EQ(copy("a", "moved", Keep::everything), "not_a_regular_file") << "a move would lose it";
  const UniqueFd object{::openat(directory.get(), "a", O_PATH | O_NOFOLLOW | O_CLOEXEC)};
  EXPECT_EQ(copy_tree(object.get(), "a", directory.get(), "z", Keep::mode).value(), 2U);
  EXPECT_EQ(get(root / "z/f"), "x");
  put(root / "f", "x");
  put(root / "taken", "y");
  EXPECT_EQ(copy("f", "taken"), "already_exists");
  EXPECT_EQ(get(root / "taken"), "y");
}

TEST_F(CopyTreeTest, RefusesKernelFilesAboutThisProcess) {
  EXPECT_EQ(copy("/proc/self/environ", "copy"), "permission_denied");
  EXPECT_EQ(copy("/proc/version", "other"), "ok");
}

TEST_F(CopyTreeTest, EndsWhenADirectoryIsCopiedIntoItself) {
  std::filesystem::create_directories(root / "a/b");
  EXPECT_EQ(copy("a", "a/b/c"), "invalid_field");
}

TEST_F(CopyTreeTest, RefusesDirectoriesThatLieTooDeep) {
  std::filesystem::path deep = root / "a";
  for (int i = 0; i < 200; ++i) deep /= "d";
  std::filesystem::create_directories(deep);
  EXPECT_EQ(copy("a", "z"), "name_too_long");
}

}  // namespace
}  // namespace skiff::fs
