#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/container/serve/fleet_fixture.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container::serve {
namespace {

CO_TEST(FleetLimits, CountsAStartForBothKeysAndGoesOnByTheOneThatStarts) {
  FleetFixture all;
  ApiKey one = tenant_key("a", 1);
  ApiKey two = tenant_key("a", 1);
  two.name = two.sha256 = "two";
  all.store.ring.keys = {one, two};
  auto& records = all.tenants.hosted.records;
  std::vector<std::string> ids;
  for (int i = 0; i < 2; ++i) {
    auto made = co_await all.fleet.create(one, {.on_end = OnEnd::stop});
    CO_ASSERT_TRUE(made);
    ids.push_back(made->sandbox.name);
    records[ids.back()].state = SandboxState::stopped;
  }
  EXPECT_TRUE((co_await all.fleet.start(two, ids[0], {})).has_value());
  EXPECT_EQ(own_label(records[ids[0]], kKeyLabel), "two");
  const auto more = co_await all.fleet.start(two, ids[1], {});
  CO_ASSERT_TRUE(!more);
  EXPECT_EQ(more.error().code, Errc::too_many_sandboxes);
  EXPECT_EQ(records[ids[1]].state, SandboxState::stopped);
}

CO_TEST(FleetLimits, CountsWhatMayRunOn) {
  FleetFixture all;
  ApiKey key = tenant_key("a", 1);
  auto made = co_await all.fleet.create(key, {});
  CO_ASSERT_TRUE(made);
  Sandbox& record = all.tenants.hosted.records[made->sandbox.name];
  record.state = SandboxState::failed;
  record.may_run_on = true;
  EXPECT_FALSE((co_await all.fleet.create(key, {})).has_value());
  record.may_run_on = false;
  EXPECT_TRUE((co_await all.fleet.create(key, {})).has_value());
}

CO_TEST(FleetLimits, KeepNoMoreThanTheKeyMay) {
  FleetFixture all;
  ApiKey key = tenant_key("a");
  key.max_stopped = 1;
  all.store.ring.keys = {key};
  auto one = co_await all.fleet.create(key, {.on_end = OnEnd::stop});
  auto two = co_await all.fleet.create(key, {.on_end = OnEnd::stop});
  CO_ASSERT_TRUE(one && two);
  EXPECT_TRUE((co_await all.fleet.stop("a", one->sandbox.name)).has_value());
  EXPECT_TRUE((co_await all.fleet.stop("a", one->sandbox.name)).has_value()) << "it is stopped already";
  EXPECT_EQ((co_await all.fleet.stop("a", two->sandbox.name)).error().code, Errc::too_many_sandboxes);
  EXPECT_EQ((co_await all.fleet.create(key, {.on_end = OnEnd::stop})).error().code, Errc::too_many_sandboxes);
  EXPECT_TRUE((co_await all.fleet.create(key, {})).has_value()) << "that one is not kept";
}

}  // namespace
}  // namespace skiff::container::serve
