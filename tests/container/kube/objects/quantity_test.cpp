#include "container/kube/objects/quantity.hpp"

#include <gtest/gtest.h>

namespace skiff::kube {
namespace {

TEST(Quantity, HasDecimalAndBinarySuffixes) {
  EXPECT_EQ(parse_quantity("0"), 0);
  EXPECT_EQ(parse_quantity("250m"), 0.25);
  EXPECT_EQ(parse_quantity("1.5"), 1.5);
  EXPECT_EQ(parse_quantity("2k"), 2000);
  EXPECT_EQ(parse_quantity("1Gi"), 1073741824);
  EXPECT_EQ(parse_quantity("2e3"), 2000);
  EXPECT_EQ(parse_quantity("3E"), 3e18);
  EXPECT_EQ(parse_quantity("-1"), -1);
}

TEST(Quantity, IsNothingElse) {
  for (const char* text : {"", "Gi", "1gi", "1 Gi", "one", "1Gi1"}) EXPECT_FALSE(parse_quantity(text)) << text;
}

}  // namespace
}  // namespace skiff::kube
