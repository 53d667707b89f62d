#include "runtime/activity.hpp"

#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "base/async/event.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::runtime {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// An activity that records why it ended.
struct Watched {
  explicit Watched(Executor executor, Activity::WallClock wall = wall_now)
      : changed{executor},
        activity{executor,
                 [this](std::string_view why) {
                   reasons.emplace_back(why);
                   changed.notify_all();
                 },
                 std::move(wall)} {}
  Task<> until_over() {
    while (reasons.empty()) co_await changed.wait();
  }
  Event changed;
  std::vector<std::string> reasons;
  Activity activity;
};

/// Ends when a timer of that length fires, which is after every shorter timer that was set before.
Task<> pass(Executor executor, milliseconds time) {
  Event passed{executor};
  Deadline deadline{executor, [&] { passed.notify_all(); }};
  deadline.expires_after(time);
  co_await passed.wait();
}

CO_TEST(Activity, ALeaseEndsOnceAlsoWhileInUse) {
  Watched watched{executor};
  const Activity::Use use{watched.activity};
  watched.activity.lease(milliseconds{1});
  watched.activity.idle_limit(milliseconds{1});
  co_await watched.until_over();
  co_await pass(executor, milliseconds{10});
  EXPECT_THAT(watched.reasons, ElementsAre(HasSubstr("lease")));
}

CO_TEST(Activity, TheIdleTimeRunsOnlyWhileNothingIsUsed) {
  Watched watched{executor};
  {
    const Activity::Use request{watched.activity};
    watched.activity.idle_limit(milliseconds{1});
    co_await pass(executor, milliseconds{10});
    EXPECT_TRUE(watched.reasons.empty());
    EXPECT_TRUE(watched.activity.in_use());
    EXPECT_EQ(watched.activity.idle_for(), milliseconds{0});
  }
  EXPECT_FALSE(watched.activity.in_use());
  co_await watched.until_over();
  EXPECT_THAT(watched.reasons, ElementsAre(HasSubstr("idle")));
}

CO_TEST(Activity, IsInUseUntilTheLastUseEnds) {
  Watched watched{executor};
  watched.activity.idle_limit(milliseconds{1});
  std::optional<Activity::Use> first{watched.activity};
  std::optional<Activity::Use> second{watched.activity};
  first.reset();
  co_await pass(executor, milliseconds{10});
  EXPECT_TRUE(watched.reasons.empty());
  second.reset();
  co_await watched.until_over();
}

CO_TEST(Activity, ARenewedLeaseDoesNotEndAtItsOldTime) {
  Watched watched{executor};
  watched.activity.lease(milliseconds{1});
  watched.activity.lease(std::chrono::hours{1});
  co_await pass(executor, milliseconds{10});
  EXPECT_TRUE(watched.reasons.empty());
  EXPECT_EQ(watched.activity.lease_time(), std::chrono::hours{1});
  CO_ASSERT_TRUE(watched.activity.lease_ends());
  EXPECT_GT(*watched.activity.lease_ends(), wall_now());
  watched.activity.lease({});
  EXPECT_FALSE(watched.activity.lease_ends());
  watched.activity.idle_limit(milliseconds{1});
  watched.activity.idle_limit({});
  co_await pass(executor, milliseconds{10});
  EXPECT_TRUE(watched.reasons.empty());
}

CO_TEST(Activity, IgnoresChangesOfTheWallClock) {
  using std::chrono::hours;
  for (const hours step : {hours{24 * 365}, hours{-24 * 365}}) {
    hours set{0};
    Watched watched{executor, [&set] { return wall_now() + set; }};
    watched.activity.lease(hours{1});
    watched.activity.idle_limit(hours{1});
    set = step;
    co_await pass(executor, milliseconds{10});
    EXPECT_TRUE(watched.reasons.empty());
    EXPECT_LT(watched.activity.idle_for(), hours{1});
    // Times are shown in the new wall-clock time.
    const WallTime now = wall_now() + set;
    CO_ASSERT_TRUE(watched.activity.lease_ends());
    EXPECT_GT(*watched.activity.lease_ends(), now);
    EXPECT_LE(*watched.activity.lease_ends(), now + hours{1});
    EXPECT_LE(watched.activity.last_used(), now);
    EXPECT_GT(watched.activity.last_used(), now - hours{1});

    watched.activity.lease(milliseconds{1});
    set = -step;
    co_await watched.until_over();
    EXPECT_THAT(watched.reasons, ElementsAre(HasSubstr("lease")));
  }
}

}  // namespace
}  // namespace skiff::runtime
