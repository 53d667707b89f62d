#include "base/clock.hpp"

#include <gtest/gtest.h>

namespace skiff {
namespace {

using namespace std::chrono_literals;

TEST(Clock, WritesTimesAsRfc3339WithMilliseconds) {
  EXPECT_EQ(rfc3339(WallTime{}), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(rfc3339(std::chrono::sys_days{std::chrono::year{2026} / 1 / 31} + 23h + 59min + 59s + 42'999us),
            "2026-01-31T23:59:59.042Z");
  EXPECT_EQ(rfc3339(std::chrono::sys_days{std::chrono::year{2024} / 2 / 29}), "2024-02-29T00:00:00.000Z");
}

TEST(Clock, RoundsDownAlsoBeforeTheEpoch) {
  EXPECT_EQ(rfc3339(WallTime{-1us}), "1969-12-31T23:59:59.999Z");
}

TEST(Clock, WritesYearsOfMoreDigitsThanRfc3339Has) {
  EXPECT_EQ(rfc3339(std::chrono::sys_days{std::chrono::year{9999} / 12 / 31}), "9999-12-31T00:00:00.000Z");
  EXPECT_EQ(rfc3339(std::chrono::sys_days{std::chrono::year{12'345} / 6 / 7}), "12345-06-07T00:00:00.000Z");
  EXPECT_EQ(rfc3339(std::chrono::sys_days{std::chrono::year{7} / 6 / 7}), "0007-06-07T00:00:00.000Z");
}

TEST(Clock, TellsTheTimeOfTheSystem) {
  const auto tells_it = [] {
    const auto before = std::chrono::system_clock::now();
    const WallTime now = wall_now();
    return now + 1us >= before && now <= std::chrono::system_clock::now();
  };
  // Try twice: the clock may just have been set.
  EXPECT_TRUE(tells_it() || tells_it());
}

}  // namespace
}  // namespace skiff
