#include "protocol/http2/meter.hpp"

#include <gtest/gtest.h>

namespace skiff::protocol {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

constexpr FrameMeter::Rate kRate{.burst = 10, .per_second = 100};

TEST(FrameMeter, AdmitsABurstAndThenNoMore) {
  const SteadyTime now{};
  FrameMeter meter{kRate, now};
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(meter.pay(1, now));
  EXPECT_FALSE(meter.pay(1, now));
  EXPECT_TRUE(meter.pay(0, now));
}

TEST(FrameMeter, FillsWithTimeUpToItsBurst) {
  const SteadyTime start{};
  FrameMeter meter{kRate, start};
  EXPECT_TRUE(meter.pay(10, start));
  EXPECT_FALSE(meter.pay(1, start + milliseconds{9}));
  EXPECT_TRUE(meter.pay(1, start + milliseconds{10}));  // the earlier time is not lost
  EXPECT_FALSE(meter.pay(1, start + milliseconds{10}));
  EXPECT_TRUE(meter.pay(10, start + hours{1'000'000}));
  EXPECT_FALSE(meter.pay(1, start + hours{1'000'000}));
}

TEST(FrameMeter, EarnsUpToItsBurst) {
  const SteadyTime now{};
  FrameMeter meter{kRate, now};
  EXPECT_TRUE(meter.pay(10, now));
  meter.earn(3);
  EXPECT_TRUE(meter.pay(3, now));
  meter.earn(1000);
  EXPECT_FALSE(meter.pay(11, now));
  EXPECT_TRUE(meter.pay(10, now));
}

}  // namespace
}  // namespace skiff::protocol
