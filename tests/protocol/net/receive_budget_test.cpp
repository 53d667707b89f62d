#include "protocol/net/receive_budget.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace skiff::protocol {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kFree = ReceiveBudget::kFree;

struct Body {
  explicit Body(ReceiveBudget* budget, std::chrono::milliseconds patience = 1h, std::string name = "one")
      : who{std::move(name)}, share{budget, {.who = &who, .patience = patience}, [this] { ++losses; }} {}
  [[nodiscard]] bool grow_to(std::size_t counted) { return share.hold(kFree + counted); }
  std::string who;
  int losses = 0;
  ReceiveBudget::Share share;
};

TEST(ReceiveBudget, HasRoomForSmallBodiesAlways) {
  ReceiveBudget budget{1};
  Body large{&budget};
  EXPECT_TRUE(large.grow_to(1));
  Body small{&budget};
  EXPECT_TRUE(small.grow_to(0));
  EXPECT_FALSE(small.grow_to(1));
}

TEST(ReceiveBudget, HasRoomForOneOfAnySize) {
  ReceiveBudget budget{10};
  Body only{&budget};
  EXPECT_TRUE(only.grow_to(5));
  EXPECT_TRUE(only.grow_to(1000));
}

TEST(ReceiveBudget, CountsWhatGrowsOnceAndGivesItBack) {
  ReceiveBudget budget{100};
  std::optional<Body> first{std::in_place, &budget};
  EXPECT_TRUE(first->grow_to(40));
  EXPECT_TRUE(first->grow_to(60));
  Body second{&budget};
  EXPECT_TRUE(second.grow_to(40));
  EXPECT_FALSE(second.grow_to(41));
  first.reset();
  EXPECT_TRUE(second.grow_to(100));
}

TEST(ReceiveBudget, HasNoLimitIfNull) {
  Body body{nullptr};
  EXPECT_TRUE(body.share.hold(SIZE_MAX));
}

TEST(ReceiveBudget, TakesFromSlowBodiesForOthers) {
  ReceiveBudget budget{100};
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

TEST(ReceiveBudget, TakesNothingIfThatIsNotEnough) {
  ReceiveBudget budget{100};
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

TEST(ReceiveBudget, TakesNothingFromTheRequester) {
  ReceiveBudget budget{100};
  Body quick{&budget};
  Body slow{&budget, 0ms};
  EXPECT_TRUE(quick.grow_to(60));
  EXPECT_TRUE(slow.grow_to(40));
  EXPECT_FALSE(slow.grow_to(41));
  EXPECT_EQ(slow.losses, 0);
}

TEST(ReceiveBudget, TakesFromTheClientWithTheMost) {
  ReceiveBudget budget{100};
  Body first{&budget, 1h, "many"};
  Body second{&budget, 1h, "many"};
  EXPECT_TRUE(first.grow_to(50));
  EXPECT_TRUE(second.grow_to(50));
  Body other{&budget, 1h, "other"};
  EXPECT_FALSE(other.share.hold_if_free(kFree + 1));
  EXPECT_TRUE(other.grow_to(30));
  EXPECT_EQ(first.losses, 1);
  EXPECT_EQ(second.losses, 0);
  EXPECT_FALSE(other.grow_to(51)) << "he would have more than they";
  EXPECT_FALSE(first.grow_to(1)) << "it is lost";
}

TEST(ReceiveBudget, TakesFromAClientsOwnLargestBody) {
  ReceiveBudget budget{100};
  Body large{&budget};
  Body small{&budget};
  EXPECT_TRUE(large.grow_to(100));
  EXPECT_FALSE(small.grow_to(50));
  EXPECT_TRUE(small.grow_to(49));
  EXPECT_EQ(large.losses, 1);
}

TEST(ReceiveBudget, FreesUsedBytes) {
  ReceiveBudget budget{100};
  Body first{&budget};
  Body second{&budget};
  EXPECT_TRUE(first.grow_to(100));
  EXPECT_TRUE(first.grow_to(0));
  EXPECT_EQ(budget.used(), 0U);
  EXPECT_TRUE(second.grow_to(100));
}

}  // namespace
}  // namespace skiff::protocol
