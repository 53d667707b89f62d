#include "sessions/spawn/quick_starts.hpp"

#include <gtest/gtest.h>

namespace skiff::sessions {
namespace {

using namespace std::chrono_literals;

TEST(QuickStarts, ExpectsNothingOfAProgramThatWasNeverStarted) {
  EXPECT_FALSE(QuickStarts{}.expects("/bin/sh"));
}

TEST(QuickStarts, ExpectsAQuickStartAfterAQuickStart) {
  QuickStarts quick;
  quick.note("/bin/sh", 60us);
  EXPECT_TRUE(quick.expects("/bin/sh"));
  EXPECT_FALSE(quick.expects("/bin/bash"));
}

TEST(QuickStarts, ForgetsAProgramAfterOneSlowStart) {
  QuickStarts quick;
  quick.note("/bin/sh", 60us);
  quick.note("/bin/sh", 30ms);
  EXPECT_FALSE(quick.expects("/bin/sh"));
}

TEST(QuickStarts, RemembersABoundedNumber) {
  QuickStarts quick;
  for (int number = 0; number < 10'000; ++number) quick.note(std::to_string(number), 60us);
  int known = 0;
  for (int number = 0; number < 10'000; ++number) known += quick.expects(std::to_string(number)) ? 1 : 0;
  EXPECT_LE(known, 64);
  EXPECT_TRUE(quick.expects("9999"));
}

}  // namespace
}  // namespace skiff::sessions
