#include "protocol/http/body_budget.hpp"

#include <optional>

#include <gtest/gtest.h>

namespace skiff::protocol {
namespace {

constexpr std::size_t kFree = BodyBudget::kFree;

TEST(BodyBudget, HasRoomForSmallBodiesAlways) {
  BodyBudget budget{1};
  BodyBudget::Share large{&budget};
  EXPECT_TRUE(large.grow_to(kFree + 1));
  BodyBudget::Share small{&budget};
  EXPECT_TRUE(small.grow_to(kFree));
  EXPECT_FALSE(small.grow_to(kFree + 1));
}

TEST(BodyBudget, HasRoomForOneOfAnySize) {
  BodyBudget budget{10};
  BodyBudget::Share only{&budget};
  EXPECT_TRUE(only.grow_to(kFree + 5));
  EXPECT_TRUE(only.grow_to(kFree + 1000));
}

TEST(BodyBudget, CountsWhatGrowsOnceAndGivesItBack) {
  BodyBudget budget{100};
  std::optional<BodyBudget::Share> first{std::in_place, &budget};
  EXPECT_TRUE(first->grow_to(kFree + 40));
  EXPECT_TRUE(first->grow_to(kFree + 60));
  EXPECT_TRUE(first->grow_to(kFree + 50));
  BodyBudget::Share second{&budget};
  EXPECT_TRUE(second.grow_to(kFree + 40));
  EXPECT_FALSE(second.grow_to(kFree + 41));
  first.reset();
  EXPECT_TRUE(second.grow_to(kFree + 100));
}

TEST(BodyBudget, NoneIsNoLimit) {
  BodyBudget::Share share{nullptr};
  EXPECT_TRUE(share.grow_to(SIZE_MAX));
}

}  // namespace
}  // namespace skiff::protocol
