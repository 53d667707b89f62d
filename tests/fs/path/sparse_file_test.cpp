#include "fs/path/sparse_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <string>

#include <gtest/gtest.h>

#include "base/unique_fd.hpp"
#include "tests/support/scratch_tree.hpp"

namespace skiff::fs {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20U;

class SparseFileTest : public ::testing::Test {
 protected:
  /// Writes the content in pieces of `step` bytes; returns the bytes that it takes on disk.
  std::uint64_t write(const std::string& content, std::size_t step) {
    const UniqueFd fd{::open((tree / "f").c_str(), O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600)};
    const SparseFile file{fd.get()};
    for (std::size_t at = 0; at < content.size(); at += step) {
      EXPECT_EQ(file.write(at, std::string_view{content}.substr(at, step)), 0);
    }
    EXPECT_EQ(file.finish(content.size()), 0);
    EXPECT_TRUE(tree.read("f") == content) << step;
    struct stat info{};
    EXPECT_EQ(::fstat(fd.get(), &info), 0);
    return static_cast<std::uint64_t>(info.st_blocks) * 512;
  }

  test::ScratchTree tree;
};

TEST_F(SparseFileTest, TakesNoRoomForZeros) {
  std::string content(4 * kMiB, '\0');
  content.replace(kMiB + 1000, 4, "text");
  content.replace(3 * kMiB, 10'000, std::string(10'000, 'x'));
  for (const std::size_t step : {std::size_t{100'003}, std::size_t{512}, std::size_t{4096}, content.size()}) {
    EXPECT_LE(write(content, step), 64U << 10U) << step;
  }
  EXPECT_LE(write(std::string(kMiB, '\0'), 65'536), 4096U);
}

TEST_F(SparseFileTest, KeepsEveryByte) {
  for (const std::size_t size : {0U, 1U, 4095U, 4096U, 4097U, 12'345U}) {
    std::string content(size, '\0');
    write(content, 1000);
    for (std::size_t at = 0; at < size; at += 777) content[at] = static_cast<char>(at % 250 + 1);
    write(content, 1000);
    write(content, 4096);
  }
}

TEST_F(SparseFileTest, ReportsErrors) {
  const UniqueFd fd{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
  EXPECT_EQ(SparseFile{fd.get()}.write(0, "x"), EBADF);
  EXPECT_NE(SparseFile{fd.get()}.finish(1), 0);
}

}  // namespace
}  // namespace skiff::fs
