#include "runtime/process_stats.hpp"

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
  double sum = 0;
  while (cpu_seconds() <= before) {
    for (int i = 0; i < 100'000; ++i) sum += i;
  }
  EXPECT_GT(sum, 0);
  EXPECT_GT(resident_bytes(), 1U << 20U);
  EXPECT_GT(start_time_seconds(), 1.7e9);
}

}  // namespace
}  // namespace skiff::runtime
