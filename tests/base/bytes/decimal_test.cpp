#include "base/bytes/decimal.hpp"

#include <limits>

#include <gtest/gtest.h>

namespace skiff {
namespace {

std::string shown(std::int64_t value, unsigned decimals) {
  std::string text;
  append_decimal(text, value, decimals);
  return text;
}

TEST(Decimal, IsWrittenWithoutZerosAtItsEnd) {
  EXPECT_EQ(shown(1250, 3), "1.25");
  EXPECT_EQ(shown(1000, 3), "1");
  EXPECT_EQ(shown(10, 0), "10");
  EXPECT_EQ(shown(5, 3), "0.005");
  EXPECT_EQ(shown(0, 6), "0");
  EXPECT_EQ(shown(-1, 6), "-0.000001");
  EXPECT_EQ(shown(std::numeric_limits<std::int64_t>::min(), 9), "-9223372036.854775808");
}

TEST(Decimal, IsReadToTheLastDigit) {
  EXPECT_EQ(parse_decimal("1.25", 3), 1250);
  EXPECT_EQ(parse_decimal("17", 3), 17000);
  EXPECT_EQ(parse_decimal("-0.5", 1), -5);
  EXPECT_EQ(parse_decimal("9000000000.123456789", 9), 9'000'000'000'123'456'789);
  EXPECT_EQ(parse_decimal("007", 0), 7);
}

TEST(Decimal, RefusesOtherTextAndOverflow) {
  for (const char* text : {"", "-", ".", ".5", "1.", "1.2345", "1e3", "+1", " 1", "0x1", "1.2.3", "--1", "inf", "nan",
                           "9223372036854776", "-9223372036854776"}) {
    EXPECT_FALSE(parse_decimal(text, 3)) << text;
  }
}

}  // namespace
}  // namespace skiff
