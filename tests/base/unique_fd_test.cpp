#include "base/unique_fd.hpp"

#include <fcntl.h>

#include <utility>

#include <gtest/gtest.h>

namespace skiff {
namespace {

int open_null() {
  return ::open("/dev/null", O_RDWR | O_CLOEXEC);
}

bool is_open(int fd) {
  return ::fcntl(fd, F_GETFD) >= 0;
}

TEST(UniqueFd, ClosesWhatItOwnsOnce) {
  const int fd = open_null();
  ASSERT_GE(fd, 0);
  {
    const UniqueFd owner{fd};
  }
  EXPECT_FALSE(is_open(fd));
}

TEST(UniqueFd, GivesItsDescriptorAwayWhenMoved) {
  const int fd = open_null();
  UniqueFd from{fd};
  UniqueFd to{open_null()};
  const int replaced = to.get();
  to = std::move(from);
  EXPECT_FALSE(is_open(replaced));
  EXPECT_EQ(to.get(), fd);
  EXPECT_FALSE(from);  // NOLINT(bugprone-use-after-move): the test is about this
}

TEST(UniqueFd, LeavesAReleasedDescriptorOpen) {
  UniqueFd owner{open_null()};
  const int fd = owner.release();
  owner.reset();
  EXPECT_TRUE(is_open(fd));
  ::close(fd);
}

}  // namespace
}  // namespace skiff
