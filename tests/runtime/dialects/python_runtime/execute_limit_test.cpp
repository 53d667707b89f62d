#include "runtime/dialects/python_runtime/execute_limit.hpp"

#include <limits>

#include <gtest/gtest.h>

namespace skiff::runtime::dialects::python_runtime {
namespace {

using namespace std::chrono_literals;

TEST(ExecuteLimit, IsTheShortestGivenLimit) {
  EXPECT_EQ(execute_limit({}, "", {}).time, 300s);
  EXPECT_EQ(execute_limit({}, "", 5.0).time, 5s);
  EXPECT_EQ(execute_limit(900.0, "", {}).time, 900s) << "what nobody configured bounds nobody";
  EXPECT_EQ(execute_limit(900.0, "", 600.0).time, 600s);
  EXPECT_EQ(execute_limit(0.25, "60", 600.0).time, 250ms);
  EXPECT_EQ(execute_limit(std::numeric_limits<double>::infinity(), "", {}).time, 300s);
  EXPECT_EQ(execute_limit(1e300, "", {}).time, std::chrono::hours{365 * 24});
  EXPECT_EQ(execute_limit(1e-9, "", {}).time, 1ms);
}

TEST(ExecuteLimit, EndsBeforeTheClientGivesUp) {
  EXPECT_EQ(execute_limit({}, "60", {}).time, 59s);
  EXPECT_EQ(execute_limit({}, "2", {}).time, 1800ms);
  EXPECT_EQ(execute_limit(70.0, "80.0", {}).time, 70s);
  for (const char* const unusable : {"0", "-3", "nan", "inf", "x", "1 2", "1e999"}) {
    EXPECT_EQ(execute_limit({}, unusable, {}).time, 300s) << unusable;
  }
}

TEST(ExecuteLimit, KnowsWhetherTheClientAskedForIt) {
  EXPECT_TRUE(execute_limit(5.0, "60", {}).asked);
  EXPECT_FALSE(execute_limit({}, "60", {}).asked);
  EXPECT_FALSE(execute_limit(100.0, "60", {}).asked);
  EXPECT_FALSE(execute_limit(100.0, "", 60.0).asked);
}

}  // namespace
}  // namespace skiff::runtime::dialects::python_runtime
