#include "container/cluster/egress/trial.hpp"

#include <gtest/gtest.h>

namespace skiff::container {
namespace {

Check verdict(const EgressTrial& fenced, const EgressTrial& open) {
  const auto checks = judge_trials(fenced, open);
  EXPECT_EQ(checks.size(), 1U);
  return checks.front();
}

TEST(EgressTrials, PassIfTheFenceAloneMakesTheDifference) {
  EXPECT_TRUE(verdict({.proxy = true}, {.canary = true}).passed);
  EXPECT_TRUE(verdict({.proxy = true}, {.canary = true, .answered = "\"10.96.0.1:443\""}).passed);
}

TEST(EgressTrials, ProveNothingIfNobodyReachesTheCanary) {
  const Check check = verdict({.proxy = true}, {.proxy = true});
  EXPECT_FALSE(check.passed);
  EXPECT_TRUE(check.detail.starts_with("not verified")) << check.detail;
}

TEST(EgressTrials, SayWhatTheFenceLetsThrough) {
  for (const EgressTrial& fenced :
       {EgressTrial{.canary = true, .proxy = true}, EgressTrial{.proxy = true, .answered = "\"10.96.0.1:443\""}}) {
    const Check check = verdict(fenced, {.canary = true});
    EXPECT_FALSE(check.passed);
    EXPECT_TRUE(check.detail.starts_with("egress_not_enforced")) << check.detail;
  }
  EXPECT_FALSE(verdict({}, {.canary = true}).passed) << "without the proxy there is no egress";
}

}  // namespace
}  // namespace skiff::container
