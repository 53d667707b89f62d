#include "container/cli/cluster_accounts.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/container/cluster/fake_cluster.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container {
namespace {

using fakes::FakeAnswer;
using fakes::FakeCluster;
using fakes::FakeRequest;
using nlohmann::json;

/// The API server answers each review of a token with `status`.
void answer_reviews(FakeCluster& fake, json status) {
  fake.server.before = [status = std::move(status)](const FakeRequest& request) -> std::optional<FakeAnswer> {
    if (!request.is("POST", "/apis/authentication.k8s.io/v1/tokenreviews")) return std::nullopt;
    const json review{{"apiVersion", "authentication.k8s.io/v1"}, {"kind", "TokenReview"}, {"status", status}};
    return FakeAnswer{.status = 201, .body = review.dump()};
  };
}

json status_of(const std::string& user) {
  return {{"authenticated", true}, {"audiences", {"skiff"}}, {"user", {{"username", user}}}};
}

CO_TEST(ClusterAccounts, AreThoseWhoseTokenTheApiServerTakesForOurAudience, FakeCluster& fake) {
  answer_reviews(fake, status_of("system:serviceaccount:team:runner"));
  ClusterAccounts accounts{fake.cluster.get()};
  auto account = co_await accounts.review("the-token");
  CO_ASSERT_TRUE(account.has_value() && account->has_value());
  EXPECT_EQ((*account)->namespace_name, "team");
  EXPECT_EQ((*account)->name, "runner");
  const auto asked = fake.server.last("POST", "/tokenreviews");
  EXPECT_EQ(asked.body.at("spec"), (json{{"token", "the-token"}, {"audiences", {"skiff"}}}));
}

CO_TEST(ClusterAccounts, AreNobodyElse, FakeCluster& fake) {
  ClusterAccounts accounts{fake.cluster.get()};
  json other_audience = status_of("system:serviceaccount:team:runner");
  other_audience["audiences"] = {"https://kubernetes.default.svc"};
  json no_audience = status_of("system:serviceaccount:team:runner");
  no_audience.erase("audiences");
  json not_valid = status_of("system:serviceaccount:team:runner");
  not_valid["authenticated"] = false;
  for (const json& status :
       {other_audience, no_audience, not_valid, json::object(), json("text"), status_of("admin"), status_of(""),
        status_of("system:serviceaccount:team"), status_of("system:serviceaccount:team:"),
        status_of("system:serviceaccount::runner"), status_of("system:serviceaccount:../kube-system:runner")}) {
    answer_reviews(fake, status);
    auto account = co_await accounts.review("the-token");
    CO_ASSERT_TRUE(account.has_value()) << status;
    EXPECT_FALSE(account->has_value()) << status;
  }
}

CO_TEST(ClusterAccounts, CanNotBeToldWithoutTheRightToAsk, FakeCluster& fake) {
  fake.server.before = [](const FakeRequest&) { return fakes::FakeApiServer::refusal(403, "Forbidden", "no"); };
  ClusterAccounts accounts{fake.cluster.get()};
  EXPECT_FALSE(co_await accounts.review("the-token"));
}

}  // namespace
}  // namespace skiff::container
