#include "sessions/process/limits.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skiff::sessions {
namespace {

using testing::ElementsAre;

MATCHER_P3(IsLimit, resource, soft, hard, "") {
  return arg.first == resource && arg.second.rlim_cur == static_cast<rlim_t>(soft) &&
         arg.second.rlim_max == static_cast<rlim_t>(hard);
}

TEST(KernelLimits, SetOnlyTheSoftLimitOfOpenFilesByDefault) {
  rlimit files{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &files), 0);
  EXPECT_THAT(kernel_limits({}, 64), ElementsAre(IsLimit(RLIMIT_NOFILE, 64, files.rlim_max)));
  EXPECT_THAT(kernel_limits({}, files.rlim_max), ElementsAre(IsLimit(RLIMIT_NOFILE, files.rlim_max, files.rlim_max)));
}

TEST(KernelLimits, LowerTheHardLimitOfOpenFilesToo) {
  EXPECT_THAT(kernel_limits({.open_files = 32}, 64), ElementsAre(IsLimit(RLIMIT_NOFILE, 32, 32)));
}

TEST(KernelLimits, RoundCpuTimeUpToSeconds) {
  EXPECT_THAT(kernel_limits({.cpu_time_ms = 1, .open_files = 32}, 64),
              ElementsAre(IsLimit(RLIMIT_NOFILE, 32, 32), IsLimit(RLIMIT_CPU, 1, 2)));
  EXPECT_THAT(kernel_limits({.cpu_time_ms = 1001, .open_files = 32, .file_size_bytes = 7}, 64),
              ElementsAre(IsLimit(RLIMIT_NOFILE, 32, 32), IsLimit(RLIMIT_CPU, 2, 3), IsLimit(RLIMIT_FSIZE, 7, 7)));
}

}  // namespace
}  // namespace skiff::sessions
