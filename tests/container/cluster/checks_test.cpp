// Findings that a real API server can't be made to show (tests/kubernetes/cluster_checks_test.cpp has the rest).
#include "container/cluster/checks.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "tests/container/cluster/fake_cluster.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container {
namespace {

Task<std::vector<Check>> examine_fake(fakes::FakeCluster* fake) {
  fake->server.before = [](const fakes::FakeRequest& request) -> std::optional<fakes::FakeAnswer> {
    if (request.path != "/version") return std::nullopt;
    return fakes::FakeAnswer{.body = R"({"gitVersion":"v1.34.4"})"};
  };
  return examine_cluster(&fake->cluster->client(), {.agent_image = "agent:1"});
}

CO_TEST(ClusterQuestions, AreAskedManyAtATime, fakes::FakeCluster& fake) {
  const auto checks = co_await examine_fake(&fake);
  const auto permissions = std::ranges::find(checks, "permissions", &Check::what);
  CO_ASSERT_TRUE(permissions != checks.end());
  EXPECT_TRUE(permissions->passed) << permissions->detail;
  EXPECT_GT(fake.server.count("POST", "/selfsubjectaccessreviews"), 30u);
  EXPECT_GT(fake.cluster->client().transport().connections().idle(), 1u) << "one after the other";
}

CO_TEST(ClusterQuestions, AreAboutTheClockToo, fakes::FakeCluster& fake) {
  const auto checks = co_await examine_fake(&fake);
  const auto clock = std::ranges::find(checks, "clock", &Check::what);
  CO_ASSERT_TRUE(clock != checks.end());
  EXPECT_TRUE(clock->passed);
  EXPECT_EQ(clock->detail, "same as the API server's");
}

}  // namespace
}  // namespace skiff::container
