#include "runtime/process/process_stats.hpp"

#include <fcntl.h>

#include <gtest/gtest.h>

#include "base/unique_fd.hpp"

namespace skiff::runtime {
namespace {

TEST(ProcessStats, AnOpenFileIsCounted) {
  const auto before = open_files();
  const UniqueFd file{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
  EXPECT_EQ(open_files(), before + 1);
  EXPECT_LE(open_files(), most_open_files());
}

TEST(ProcessStats, CpuTimeGrowsWithWork) {
  const double before = cpu_seconds();
  // This ends only if the time grows; it takes some milliseconds of work.
  volatile unsigned work = 0;
  while (cpu_seconds() < before + 0.005) {
    for (int i = 0; i < 10'000; ++i) work = work + 1;
  }
  EXPECT_GT(work, 0U);
  EXPECT_GT(resident_bytes(), 1U << 20U);
  EXPECT_GT(start_time_seconds(), 1.7e9);
}

}  // namespace
}  // namespace skiff::runtime
