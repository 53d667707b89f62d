#include "protocol/http/accepted_types.hpp"

#include <gtest/gtest.h>

namespace skiff::protocol {
namespace {

using Types = std::vector<std::string_view>;

TEST(AcceptedTypes, AreInTheOrderOfTheirWeights) {
  EXPECT_EQ(accepted_types("a/b"), (Types{"a/b"}));
  EXPECT_EQ(accepted_types("a/b, c/d;x=y , */*"), (Types{"a/b", "c/d", "*/*"}));
  EXPECT_EQ(accepted_types("a/b;q=0.5, c/d, e/f;Q=0.75"), (Types{"c/d", "e/f", "a/b"}));
  EXPECT_EQ(accepted_types("a/b; charset=utf-8 ; q=0.1,c/d;q=0.1"), (Types{"a/b", "c/d"}));
}

TEST(AcceptedTypes, ExcludeRefusedTypes) {
  EXPECT_EQ(accepted_types("a/b;q=0, c/d;q=0.000"), Types{});
  EXPECT_EQ(accepted_types(", ,;q=1"), Types{});
}

TEST(AcceptedTypes, HaveFullWeightIfMalformed) {
  EXPECT_EQ(accepted_types("a/b;q=0.5, c/d;q=high"), (Types{"c/d", "a/b"}));
}

}  // namespace
}  // namespace skiff::protocol
