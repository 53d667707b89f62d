#include "container/cluster/permissions.hpp"

#include <gtest/gtest.h>

#include "tests/container/cluster/fake_cluster.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container {
namespace {

using fakes::FakeAnswer;
using fakes::FakeApiServer;
using fakes::FakeCluster;
using fakes::FakeRequest;

const std::vector<ApiRule> kAsked{
    {.group = "", .resource = "pods", .name = "", .verbs = {"create", "get"}},
    {.group = "", .resource = "pods/log", .name = "", .verbs = {"get"}},
    {.group = "", .resource = "secrets", .name = "skiff-signing-key", .verbs = {"get"}},
    {.group = "networking.k8s.io", .resource = "networkpolicies", .name = "", .verbs = {"patch"}}};

CO_TEST(MissingRights, AreNamedInTheOrderOfTheRules, FakeCluster& fake) {
  std::vector<nlohmann::json> asked;
  fake.server.before = [&](const FakeRequest& request) -> std::optional<FakeAnswer> {
    const nlohmann::json wanted = request.body.at("spec").at("resourceAttributes");
    asked.push_back(wanted);
    const bool allowed = wanted.at("resource") == "pods" && wanted.value("subresource", "").empty();
    return FakeAnswer{.status = 201, .body = nlohmann::json{{"status", {{"allowed", allowed}}}}.dump()};
  };
  auto missing = co_await missing_rights(&fake.cluster->client(), kAsked, "team-a");
  CO_ASSERT_TRUE(missing.has_value());
  EXPECT_EQ(*missing, (std::vector<std::string>{"get pods/log", "get secrets skiff-signing-key",
                                                "patch networkpolicies.networking.k8s.io"}));
  CO_ASSERT_TRUE(asked.size() == 5U);
  for (const nlohmann::json& one : asked) EXPECT_EQ(one.at("namespace"), "team-a");
  EXPECT_EQ(std::ranges::count_if(asked, [](const auto& one) { return one.value("subresource", "") == "log"; }), 1);
  EXPECT_EQ(std::ranges::count_if(asked, [](const auto& one) { return one.value("name", "") == "skiff-signing-key"; }),
            1);
}

CO_TEST(MissingRights, AreNotKnownWhenOneCanNotBeAskedFor, FakeCluster& fake) {
  fake.server.before = [](const FakeRequest&) -> std::optional<FakeAnswer> {
    return FakeApiServer::refusal(403, "Forbidden", "you may not ask");
  };
  auto missing = co_await missing_rights(&fake.cluster->client(), kAsked, "team-a");
  CO_ASSERT_TRUE(!missing);
  EXPECT_TRUE(missing.error().forbidden());
}

}  // namespace
}  // namespace skiff::container
