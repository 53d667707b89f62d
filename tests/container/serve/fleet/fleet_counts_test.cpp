#include "container/serve/fleet/fleet_counts.hpp"

#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/container/serve/fleet_fixture.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container::serve {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// The order of the words: refused, failed, cancelled, created or woken, existing.

CO_TEST(FleetCounts, ACreationIsCountedByItsResult) {
  FleetFixture all;
  const FleetCounts& counts = all.fleet.counts();
  EXPECT_TRUE((co_await all.fleet.create(tenant_key("a", 1), {.name = "one"})).has_value());
  EXPECT_THAT(counts.creations.values(), ElementsAre(0, 0, 0, 1, 0));
  EXPECT_TRUE((co_await all.fleet.create(tenant_key("a", 1), {.name = "one", .get_or_create = true})).has_value());
  EXPECT_FALSE((co_await all.fleet.create(tenant_key("a", 1), {.name = "two"})).has_value()) << "its limit";
  EXPECT_THAT(counts.creations.values(), ElementsAre(1, 0, 0, 1, 1));
  all.tenants.away = "b";
  EXPECT_FALSE((co_await all.fleet.create(tenant_key("b"), {})).has_value());
  EXPECT_THAT(counts.creations.values(), ElementsAre(1, 0, 0, 1, 1, 0, 1, 0, 0, 0));
  const auto taken = counts.bring_up[0].counts();
  EXPECT_EQ(std::accumulate(taken.begin(), taken.end(), std::uint64_t{0}), 1U) << "only the new one";
}

TEST(FleetCounts, WhatIsGivenUpIsCountedAsCancelled) {
  FleetCounts counts;
  {
    const CountedEnd given_up{&counts.wakes, "a"};
  }
  {
    CountedEnd end{&counts.wakes, "a"};
    end.failed({.code = Errc::cancelled, .message = {}});
  }
  EXPECT_THAT(counts.wakes.values(), ElementsAre(0, 0, 2, 0));
}

CO_TEST(FleetCounts, AWakeIsCountedAndNotARequestToARunningSandbox) {
  FleetFixture all;
  all.store.ring.keys.push_back(tenant_key("a"));
  auto made = co_await all.fleet.create(tenant_key("a"), {.on_end = OnEnd::stop});
  CO_ASSERT_TRUE(made);
  EXPECT_TRUE((co_await all.fleet.wake("a", made->sandbox.name)).has_value());
  EXPECT_THAT(all.fleet.counts().wakes.values(), IsEmpty());
  EXPECT_TRUE((co_await all.fleet.stop("a", made->sandbox.name)).has_value());
  EXPECT_TRUE((co_await all.fleet.wake("a", made->sandbox.name)).has_value());
  EXPECT_THAT(all.fleet.counts().wakes.values(), ElementsAre(0, 0, 0, 1));
}

CO_TEST(FleetCounts, ALookCountsSandboxesByStateAndForgetsTenantsThatAreGone) {
  FleetFixture all;
  all.store.ring.keys = {tenant_key("a"), tenant_key("b")};
  EXPECT_TRUE((co_await all.fleet.create(tenant_key("a"), {.name = "kept", .on_end = OnEnd::stop})).has_value());
  EXPECT_TRUE((co_await all.fleet.create(tenant_key("a"), {})).has_value());
  EXPECT_TRUE((co_await all.fleet.stop("a", "kept")).has_value());
  EXPECT_TRUE((co_await all.fleet.sweep()).has_value());
  // creating, running, stopped, ended, failed; of a, then of b
  EXPECT_THAT(all.fleet.counts().sandboxes.values(), ElementsAre(0, 1, 1, 0, 0, 0, 0, 0, 0, 0));
  EXPECT_THAT(all.fleet.counts().creations.values(), ElementsAre(0, 0, 0, 2, 0, 0, 0, 0, 0, 0)) << "b begins at 0";
  all.tenants.away = "b";
  EXPECT_TRUE((co_await all.fleet.sweep()).has_value());
  EXPECT_THAT(all.fleet.counts().sandboxes.values(), ElementsAre(0, 1, 1, 0, 0)) << "what was not seen is not told";
}

}  // namespace
}  // namespace skiff::container::serve
