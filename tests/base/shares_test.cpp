#include "base/shares.hpp"

#include <optional>
#include <vector>

#include <gtest/gtest.h>

namespace skiff {
namespace {

TEST(Shares, LeaveSomeForTheNextHolder) {
  Shares shares{8};
  std::vector<Shares::Part> greedy;
  while (shares.leaves_room("greedy")) greedy.emplace_back(shares, "greedy");
  EXPECT_EQ(greedy.size(), 4U) << "half, when he is alone";
  std::vector<Shares::Part> next;
  while (shares.leaves_room("next")) next.emplace_back(shares, "next");
  EXPECT_EQ(next.size(), 2U);
  EXPECT_TRUE(shares.leaves_room("third"));
  EXPECT_FALSE(shares.leaves_room("third", 3));
}

TEST(Shares, FindTheLargestHolder) {
  Shares shares{100};
  EXPECT_EQ(shares.who_has_most(), nullptr);
  Shares::Part small{shares, "small", 3};
  std::optional<Shares::Part> large{std::in_place, shares, "large", 5};
  EXPECT_EQ(*shares.who_has_most(), "large");
  Shares::Part more{shares, "small", 3};
  EXPECT_EQ(*shares.who_has_most(), "small");
  EXPECT_EQ(shares.of("small"), 6U);
  more.set(1);
  EXPECT_EQ(*shares.who_has_most(), "large");
  large.reset();
  EXPECT_EQ(*shares.who_has_most(), "small");
}

TEST(Shares, ForgetHoldersWithoutAny) {
  Shares shares{4};
  {
    Shares::Part one{shares, "one"};
    Shares::Part moved{std::move(one)};
    Shares::Part again;
    again = std::move(moved);
    EXPECT_EQ(shares.used(), 1U);
    again.set(0);
    EXPECT_EQ(shares.holders(), 0U);
    again.set(4);
    EXPECT_EQ(shares.of("one"), 4U);
    EXPECT_FALSE(shares.leaves_room("two"));
  }
  EXPECT_EQ(shares.used(), 0U);
  EXPECT_EQ(shares.holders(), 0U);
}

}  // namespace
}  // namespace skiff
