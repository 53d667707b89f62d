#include "container/agent/copy/clock_difference.hpp"

#include <gtest/gtest.h>

namespace skiff::container {
namespace {

using namespace std::chrono_literals;

constexpr WallTime kSunday{std::chrono::sys_days{std::chrono::year{1994} / 11 / 6} + 8h + 49min + 37s};

TEST(ClockDifference, IsHowFarTheOtherClockIsAhead) {
  const protocol::Headers headers{{"Date", "Sun, 06 Nov 1994 08:49:37 GMT"}};
  EXPECT_EQ(clock_difference(headers, kSunday), 0s);
  EXPECT_EQ(clock_difference(headers, kSunday - 70s), 70s);
  EXPECT_EQ(clock_difference(headers, kSunday + 70s), -70s);
  EXPECT_EQ(clock_words(70s), "70 s ahead of this machine's");
  EXPECT_EQ(clock_words(-70s), "70 s behind this machine's");
}

TEST(ClockDifference, IsNotKnownWithoutADate) {
  EXPECT_FALSE(clock_difference({}, kSunday));
  EXPECT_FALSE(clock_difference({{"Date", "yesterday"}}, kSunday));
  EXPECT_FALSE(clock_difference({{"Date", "Sun, 06 Nov 1994 08:49:37 GMT, or so"}}, kSunday));
}

}  // namespace
}  // namespace skiff::container
