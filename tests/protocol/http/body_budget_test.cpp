#include "protocol/http/body_budget.hpp"

#include <chrono>
#include <optional>

#include <gtest/gtest.h>

namespace skiff::protocol {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kFree = BodyBudget::kFree;

struct Body {
  explicit Body(BodyBudget* budget, std::chrono::milliseconds patience = 1h)
      : share{budget, patience, [this] { ++losses; }} {}
  [[nodiscard]] bool grow_to(std::size_t counted) { return share.grow_to(kFree + counted); }
  int losses = 0;
  BodyBudget::Share share;
};

TEST(BodyBudget, HasRoomForSmallBodiesAlways) {
  BodyBudget budget{1};
  Body large{&budget};
  EXPECT_TRUE(large.grow_to(1));
  Body small{&budget};
  EXPECT_TRUE(small.grow_to(0));
  EXPECT_FALSE(small.grow_to(1));
}

TEST(BodyBudget, HasRoomForOneOfAnySize) {
  BodyBudget budget{10};
  Body only{&budget};
  EXPECT_TRUE(only.grow_to(5));
  EXPECT_TRUE(only.grow_to(1000));
}

TEST(BodyBudget, CountsWhatGrowsOnceAndGivesItBack) {
  BodyBudget budget{100};
  std::optional<Body> first{std::in_place, &budget};
  EXPECT_TRUE(first->grow_to(40));
  EXPECT_TRUE(first->grow_to(60));
  EXPECT_TRUE(first->grow_to(50));
  Body second{&budget};
  EXPECT_TRUE(second.grow_to(40));
  EXPECT_FALSE(second.grow_to(41));
  first.reset();
  EXPECT_TRUE(second.grow_to(100));
}

TEST(BodyBudget, NoneIsNoLimit) {
  Body body{nullptr};
  EXPECT_TRUE(body.share.grow_to(SIZE_MAX));
}

TEST(BodyBudget, TakesFromThoseThatAreSlowWhatAnotherNeeds) {
  BodyBudget budget{100};
  Body slow{&budget, 0ms};
  Body next{&budget, 0ms};
  Body last{&budget, 0ms};
  for (Body* one : {&slow, &next, &last}) EXPECT_TRUE(one->grow_to(30));
  Body large{&budget};
  EXPECT_TRUE(large.grow_to(50));
  EXPECT_EQ(slow.losses + next.losses, 2) << "the longest first, and as many as it takes";
  EXPECT_EQ(last.losses, 0);
  EXPECT_TRUE(slow.share.is_lost());
  EXPECT_FALSE(slow.grow_to(31));
  EXPECT_TRUE(large.grow_to(70));
  EXPECT_EQ(last.losses, 0);
  EXPECT_TRUE(large.grow_to(71));
  EXPECT_EQ(slow.losses + next.losses + last.losses, 3) << "each once";
}

TEST(BodyBudget, TakesNothingWhereItWouldNotDo) {
  BodyBudget budget{100};
  Body slow{&budget, 0ms};
  Body quick{&budget};
  EXPECT_TRUE(slow.grow_to(20));
  EXPECT_TRUE(quick.grow_to(70));
  Body large{&budget};
  EXPECT_FALSE(large.grow_to(40));
  EXPECT_EQ(slow.losses, 0);
  EXPECT_TRUE(large.grow_to(30));
  EXPECT_EQ(slow.losses, 1);
  EXPECT_EQ(quick.losses, 0);
}

TEST(BodyBudget, TakesNothingFromTheOneThatAsks) {
  BodyBudget budget{100};
  Body quick{&budget};
  Body slow{&budget, 0ms};
  EXPECT_TRUE(quick.grow_to(60));
  EXPECT_TRUE(slow.grow_to(40));
  EXPECT_FALSE(slow.grow_to(41));
  EXPECT_EQ(slow.losses, 0);
}

}  // namespace
}  // namespace skiff::protocol
