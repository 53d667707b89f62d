#include "container/egress/names/wildcard_names.hpp"

#include <string>

#include <gtest/gtest.h>

namespace skiff::container::egress {
namespace {

TEST(WildcardNames, TakesSoManyNamesInAWindow) {
  WildcardNames names;
  const SteadyTime begin{};
  for (std::size_t i = 0; i < WildcardNames::kMost; ++i) {
    EXPECT_TRUE(names.take("*.example.com", std::to_string(i) + ".example.com", begin)) << i;
  }
  EXPECT_FALSE(names.take("*.example.com", "one-more.example.com", begin));
  EXPECT_TRUE(names.take("*.example.com", "0.example.com", begin + WildcardNames::kWindow / 2)) << "it is known";
  EXPECT_TRUE(names.take("*.example.org", "a.example.org", begin)) << "another wildcard";
  EXPECT_TRUE(names.take("*.example.com", "one-more.example.com", begin + WildcardNames::kWindow));
}

TEST(WildcardNames, RefusedNamesTakeNoPlace) {
  WildcardNames names;
  for (int i = 0; i < 1000; ++i) {
    (void)names.take("*.example.com", std::to_string(i) + ".example.com", SteadyTime{});
  }
  EXPECT_TRUE(names.take("*.example.com", "19.example.com", SteadyTime{}));
  EXPECT_FALSE(names.take("*.example.com", "20.example.com", SteadyTime{}));
}

}  // namespace
}  // namespace skiff::container::egress
