#include "container/net/time.hpp"

#include <gtest/gtest.h>

namespace skiff::net {
namespace {

using namespace std::chrono_literals;
using std::chrono::sys_days;

TEST(Time, ReadsWhatTheApiWrites) {
  const WallTime expected = sys_days{2026y / 2 / 28} + 23h + 59min + 58s;
  EXPECT_EQ(parse_time("2026-02-28T23:59:58Z"), expected);
  EXPECT_EQ(parse_time("2026-02-28T23:59:58.25Z"), expected + 250ms);
  EXPECT_EQ(parse_time("2026-02-28T23:59:58.123456789Z"), expected + 123456us);
  EXPECT_EQ(parse_time("2026-03-01T00:59:58+01:00"), expected);
  EXPECT_EQ(parse_time("2026-02-28T18:29:58-05:30"), expected);
}

TEST(Time, RefusesEverythingElse) {
  for (const char* text :
       {"", "2026-02-28", "2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z", "2026-01-01T24:00:00Z",
        "2026-01-01T00:60:00Z", "2026-01-01T00:00:00", "2026-01-01T00:00:00.Z", "2026-01-01T00:00:00Zx",
        "2026-01-01 00:00:00Z", "tomorrow", "2026-1-1T0:0:0Z", "2026-01-01T00:00:00+1:00"}) {
    EXPECT_FALSE(parse_time(text)) << text;
  }
}

TEST(Time, IsWrittenInWholeSeconds) {
  const WallTime time = sys_days{2026y / 2 / 28} + 23h + 59min + 58s + 999ms;
  EXPECT_EQ(format_time(time), "2026-02-28T23:59:58Z");
  EXPECT_EQ(parse_time(format_time(time)), time - 999ms);
}

}  // namespace
}  // namespace skiff::net
