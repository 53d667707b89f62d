#include "protocol/http/server/held_answers.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace skiff::protocol {
namespace {

class HeldAnswersTest : public testing::Test {
 public:
  HeldAnswers answers{100};
  std::vector<int> cut;

  std::unique_ptr<HeldAnswers::Held> hold(int number, std::size_t bytes, const std::string& who = "one") {
    return std::make_unique<HeldAnswers::Held>(answers, who, bytes, [this, number] { cut.push_back(number); });
  }
};

TEST_F(HeldAnswersTest, CutOffTheOldest) {
  const auto first = hold(1, 40);
  const auto second = hold(2, 60);
  EXPECT_TRUE(cut.empty());
  const auto third = hold(3, 1);
  EXPECT_EQ(cut, std::vector{1});
  const auto fourth = hold(4, 90);
  EXPECT_EQ(cut, (std::vector{1, 2}));
}

TEST_F(HeldAnswersTest, HaveRoomForOneOfAnySize) {
  const auto large = hold(1, 1000);
  EXPECT_TRUE(cut.empty());
  const auto larger = hold(2, 2000);
  EXPECT_EQ(cut, std::vector{1});
}

TEST_F(HeldAnswersTest, DoNotCountSentOnes) {
  auto sent = hold(1, 90);
  sent.reset();
  const auto next = hold(2, 90);
  EXPECT_TRUE(cut.empty());
}

TEST_F(HeldAnswersTest, CutOffTheLargestHolders) {
  const auto oldest = hold(1, 30, "few");
  const auto second = hold(2, 40, "many");
  const auto third = hold(3, 30, "many");
  const auto fourth = hold(4, 10, "few");
  EXPECT_EQ(cut, std::vector{2});
}

}  // namespace
}  // namespace skiff::protocol
