#include "runtime/process/launch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace skiff::runtime {
namespace {

using testing::ElementsAre;

TEST(LaunchPlan, HasArgumentsAndVariables) {
  const auto plan = parse_launch_plan(R"({"arguments": ["--root", "/a b"], "environment": {"A": "x=\ny", "B": ""}})");
  ASSERT_TRUE(plan.has_value()) << plan.error().message;
  EXPECT_THAT(plan->arguments, ElementsAre("--root", "/a b"));
  EXPECT_THAT(plan->environment, ElementsAre("A=x=\ny", "B="));
  EXPECT_TRUE(parse_launch_plan(R"({"arguments": []})").has_value());
}

TEST(LaunchPlan, RefusesWhatIsNoPlan) {
  for (const char* text :
       {"", "[]", "{}", R"({"arguments": "x"})", R"({"arguments": [1]})", R"({"arguments": [], "environment": []})",
        R"({"arguments": [], "environment": {"A": 1}})", R"({"arguments": [], "environment": {"": "x"}})",
        R"({"arguments": [], "environment": {"A=B": "x"}})"}) {
    EXPECT_FALSE(parse_launch_plan(text).has_value()) << text;
  }
}

TEST(Launch, SaysWhyItCannot) {
  EXPECT_EQ(launch({}), 2);
  const char* const missing = "/does/not/exist";
  EXPECT_EQ(launch({&missing, 1}), 1);
}

}  // namespace
}  // namespace skiff::runtime
