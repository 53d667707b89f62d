#include <optional>

#include <gtest/gtest.h>

#include "tests/container/drivers/pods/filled_pool.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container {
namespace {

using fakes::FakeAnswer;
using fakes::FakeRequest;
using fakes::FilledPool;

CO_TEST(PoolHealth, ComesBackAfterADrainAndAfterAQuotaThatRefused) {
  FilledPool pool{executor, 3};
  co_await pool.begin();
  pool.fake.server.erase(kube::kPods, "default", "skiff-pool-p-0");
  pool.fake.server.erase(kube::kPods, "default", "skiff-pool-p-1");
  bool is_refused = true;
  pool.fake.server.before = [&](const FakeRequest& request) -> std::optional<FakeAnswer> {
    if (!is_refused || !request.is("POST", "/pods")) return std::nullopt;
    return fakes::FakeApiServer::refusal(403, "Forbidden", "pods \"x\" is forbidden: exceeded quota: q, used: pods=1");
  };
  const auto status = co_await pool.pools.status("p");
  CO_ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->missing(), 2u);
  EXPECT_EQ(status->reason, "the quota of the namespace is used up: exceeded quota: q, used: pods=1");

  auto health = co_await pool.pools.heal();
  CO_ASSERT_TRUE(health.has_value());
  EXPECT_EQ(health->missing, 2u);
  // Many ask, and one fills.
  (void)co_await pool.pools.heal();
  co_await pool.pools.close();
  health = co_await pool.pools.heal();
  CO_ASSERT_TRUE(health.has_value());
  EXPECT_GE(health->failures, 1u);
  is_refused = false;
  co_await pool.pools.close();
  const auto healed = co_await pool.pools.status("p");
  CO_ASSERT_TRUE(healed.has_value());
  EXPECT_EQ(healed->total, 3u);
  EXPECT_EQ(healed->missing(), 0u);
  EXPECT_EQ(healed->reason, "");
  co_await pool.fake.stop();
}

}  // namespace
}  // namespace skiff::container
