#include "base/kernel_features.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <future>

#include <gtest/gtest.h>

#include "tests/support/in_child.hpp"

namespace skiff {
namespace {

TEST(KernelFeatures, LackOnlyWhatAFilterRefuses) {
  const KernelFeatures all = probe_kernel_features();
  const auto expect_without = [](KernelFeatures expected, long call) {
    for (const int error : {ENOSYS, EPERM}) {
      test::expect_without([&] { EXPECT_EQ(probe_kernel_features(), expected) << call << " fails by " << error; }, call,
                           error);
    }
  };
  const auto but = [&all](auto without) {
    KernelFeatures left = all;
    without(left);
    return left;
  };
  expect_without(but([](KernelFeatures& left) { left.pidfd = false; }), SYS_pidfd_open);
  expect_without(but([](KernelFeatures& left) { left.pidfd = false; }), SYS_pidfd_send_signal);
  expect_without(but([](KernelFeatures& left) { left.close_range = false; }), SYS_close_range);
  expect_without(but([](KernelFeatures& left) { left.clone3 = false; }), SYS_clone3);
  expect_without(but([](KernelFeatures& left) { left.openat2 = false; }), SYS_openat2);
  expect_without(but([](KernelFeatures& left) { left.landlock_abi = 0; }), 444 /* landlock_create_ruleset */);
  expect_without(but([](KernelFeatures& left) { left.call_filter = false; }), SYS_seccomp);
  expect_without(all, SYS_clock_settime);
}

TEST(KernelFeatures, AreProbedWithoutADescriptorTableOfTheThreadsOwn) {
  const int fd = std::async(std::launch::async, [] {
                   (void)probe_kernel_features();
                   return ::dup(0);
                 }).get();
  ASSERT_GE(fd, 0);
  EXPECT_NE(::fcntl(fd, F_GETFD), -1) << "the thread that probed and this one have tables of their own";
  ::close(fd);
}

}  // namespace
}  // namespace skiff
