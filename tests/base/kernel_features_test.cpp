#include "base/kernel_features.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include <gtest/gtest.h>

#include "base/unique_fd.hpp"

namespace skiff {
namespace {

TEST(KernelFeatures, SaysOfPidfdsWhatAnAttemptSays) {
  const UniqueFd self{static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0))};
  EXPECT_EQ(kernel_features().pidfd, static_cast<bool>(self));
}

TEST(KernelFeatures, SaysOfCloseRangeWhatAnAttemptSays) {
  const int fd = ::dup(0);
  const bool closed = ::syscall(SYS_close_range, fd, fd, 0) == 0;
  EXPECT_EQ(kernel_features().close_range, closed);
  if (!closed) ::close(fd);
}

TEST(KernelFeatures, DoesNotGiveTheProbingThreadADescriptorTableOfItsOwn) {
  (void)kernel_features();
  EXPECT_EQ(::syscall(SYS_kcmp, ::getpid(), ::getpid(), 2 /* KCMP_FILES */, 0, 0) <= 0, true);
  const int fd = ::dup(0);
  // /proc/PID/fd is the first thread's table, /proc/thread-self/fd this one's: both must show it.
  EXPECT_EQ(::access(("/proc/self/fd/" + std::to_string(fd)).c_str(), F_OK), 0);
  EXPECT_EQ(::access(("/proc/thread-self/fd/" + std::to_string(fd)).c_str(), F_OK), 0);
  ::close(fd);
}

TEST(KernelFeatures, TakesARefusedCallForAnAbsentOne) {
  // A null argument is refused with EINVAL by a kernel that knows the call, by a filter with EPERM or ENOSYS.
  const bool known = ::syscall(SYS_clone3, nullptr, 0) == -1 && errno == EINVAL;
  EXPECT_EQ(kernel_features().clone3, known);
}

TEST(KernelFeatures, ReportsLandlockOnlyWithAVersion) {
  EXPECT_GE(kernel_features().landlock_abi, 0);
}

}  // namespace
}  // namespace skiff
