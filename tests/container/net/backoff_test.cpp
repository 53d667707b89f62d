#include "container/net/backoff.hpp"

#include <gtest/gtest.h>

namespace skiff::net {
namespace {

using namespace std::chrono_literals;

TEST(Backoff, IsEndedByTheTimeAndNotByTheTries) {
  Backoff backoff{{}};
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(backoff.next().has_value()) << i;
}

TEST(Backoff, GoesOnWhileACallerWaits) {
  const SteadyTime until = std::chrono::steady_clock::now() + 1h;
  Backoff backoff{{.all = 0ms}};
  EXPECT_FALSE(backoff.next().has_value());
  EXPECT_TRUE(backoff.next(until).has_value());
  EXPECT_TRUE(backoff.next(until, 60s).has_value());
}

TEST(Backoff, GrowsWithHalfOfItRandom) {
  Backoff backoff{{.first = 100ms, .most = 400ms, .all = 30s, .attempts = 100}};
  for (const auto& [least, most] : {std::pair{50ms, 100ms}, {100ms, 200ms}, {200ms, 400ms}, {200ms, 400ms}}) {
    const auto wait = backoff.next();
    ASSERT_TRUE(wait.has_value());
    EXPECT_GE(*wait, least);
    EXPECT_LE(*wait, most);
  }
  backoff.reset();
  EXPECT_LE(backoff.next().value(), 100ms);
}

TEST(Backoff, WaitsAtLeastAsLongAsTheServerAsks) {
  Backoff backoff{{}};
  EXPECT_GE(backoff.next({}, 3s).value(), 3s);
  Backoff short_of_time{{.all = 2s}};
  EXPECT_FALSE(short_of_time.next({}, 3s).has_value());
}

TEST(Backoff, EndsAfterItsAttempts) {
  Backoff backoff{{.attempts = 3}};
  EXPECT_TRUE(backoff.next().has_value());
  EXPECT_TRUE(backoff.next().has_value());
  EXPECT_FALSE(backoff.next().has_value());
}

}  // namespace
}  // namespace skiff::net
