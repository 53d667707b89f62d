#include "base/async/expiry.hpp"

#include <gtest/gtest.h>

#include "base/async/event.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff {
namespace {

CO_TEST(Expiry, CallsWhenTheTimeIsOverAndNotBefore) {
  const auto never = [] { ADD_FAILURE() << "its time is not over"; };
  const Expiry endless{executor, std::nullopt, never};
  const Expiry far{executor, WallTime{std::chrono::seconds{253'402'300'799}},
                   never};  // in 9999, the latest expiry of a token
  for (const auto left : {std::chrono::milliseconds{30}, std::chrono::milliseconds{-5}}) {
    const WallTime end = wall_now() + left;
    Event reached{executor};
    int calls = 0;
    const Expiry expiry{executor, end, [&] {
                          ++calls;
                          reached.notify_all();
                        }};
    EXPECT_EQ(calls, 0) << "called before it was made";
    while (calls == 0) co_await reached.wait();
    EXPECT_GE(wall_now(), end);
    EXPECT_EQ(calls, 1);
  }
}

CO_TEST(Expiry, FollowsChangesOfTheWallClock) {
  using std::chrono::hours;
  using std::chrono::milliseconds;
  struct Set {
    milliseconds left;  ///< time left at the beginning
    milliseconds step;
  };
  for (const Set& set : {Set{.left = milliseconds{20}, .step = milliseconds{-60}},
                         Set{.left = hours{24 * 365}, .step = hours{24 * 366}}}) {
    milliseconds step{0};
    const auto wall = [&step] { return wall_now() + step; };
    const WallTime end = wall() + set.left;
    Event reached{executor};
    int calls = 0;
    const Expiry expiry{executor,
                        end,
                        [&] {
                          EXPECT_GE(wall(), end);
                          ++calls;
                          reached.notify_all();
                        },
                        {.wall = wall, .looked_at_each = milliseconds{5}}};
    step = set.step;
    while (calls == 0) co_await reached.wait();
    EXPECT_EQ(calls, 1);
  }
}

}  // namespace
}  // namespace skiff
