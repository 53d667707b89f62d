#include "container/drivers/claims/remove.hpp"

#include <gtest/gtest.h>

#include "tests/container/cluster/fake_cluster.hpp"
#include "tests/container/cluster/manifest_context.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container {
namespace {

using fakes::FakeAnswer;
using fakes::FakeCluster;
using fakes::FakeRequest;
using kube::Object;
using nlohmann::json;
using namespace std::chrono_literals;

/// A claim "skiff-box" that has no Sandbox yet.
Object put_claim(FakeCluster& fake) {
  fake.server.served = {{"agents.x-k8s.io/v1beta1", {"sandboxes"}},
                        {"extensions.agents.x-k8s.io/v1beta1", {"sandboxclaims"}}};
  Object claim = create_claim(fakes::plain_spec("box"), test::manifest_context(), SandboxApi::v1beta1, {.pool = "warm"},
                              std::nullopt);
  claim.json["metadata"]["namespace"] = "default";
  return fake.server.put(kube::kSandboxClaims, std::move(claim));
}

/// A Sandbox of that name that belongs to the claim with that uid.
Object put_sandbox_of(FakeCluster& fake, const std::string& claim_uid) {
  Object sandbox = Object::make(kube::kSandboxes, "default", "skiff-box");
  sandbox.json["metadata"]["ownerReferences"] =
      json::array({{{"kind", "SandboxClaim"}, {"name", "skiff-box"}, {"uid", claim_uid}}});
  return fake.server.put(kube::kSandboxes, std::move(sandbox));
}

Task<Result<>> remove_box(FakeCluster* fake, Object claim, Removal how) {
  return remove_claim(fake->cluster.get(), SandboxApi::v1beta1, std::move(claim), std::nullopt, std::move(how));
}

CO_TEST(ClaimRemoval, DeletesTheVeryObjectByItsUid, FakeCluster& fake) {
  const Object claim = put_claim(fake);
  auto removed = co_await remove_box(&fake, claim, {});
  EXPECT_TRUE(removed) << removed.error().message;
  EXPECT_EQ(fake.server.last("DELETE", "/sandboxclaims/skiff-box").body["preconditions"], (json{{"uid", claim.uid()}}));
  EXPECT_TRUE(fake.server.all(kube::kSandboxClaims).empty());
}

CO_TEST(ClaimRemoval, DoesNotWaitForASandboxOfItsNameThatIsAnotherClaims, FakeCluster& fake) {
  const Object claim = put_claim(fake);
  fake.server.put(kube::kSandboxClaims, Object::make(kube::kSandboxClaims, "default", "next"));
  const std::string next = fake.server.find(kube::kSandboxClaims, "default", "next")->uid();
  fake.server.before = [&](const FakeRequest& request) -> std::optional<FakeAnswer> {
    // A new `up` of that name is under way, and its claim has one already.
    if (request.is("DELETE", "/sandboxclaims/skiff-box")) put_sandbox_of(fake, next);
    return std::nullopt;
  };
  auto removed = co_await remove_box(&fake, claim, {.patience = 1ms});
  EXPECT_TRUE(removed) << removed.error().message;
  EXPECT_TRUE(fake.server.find(kube::kSandboxes, "default", "skiff-box"));
}

CO_TEST(ClaimRemoval, WaitsForTheSandboxThatItGotWhileItWasRemoved, FakeCluster& fake) {
  const Object claim = put_claim(fake);
  fake.server.before = [&](const FakeRequest& request) -> std::optional<FakeAnswer> {
    // By a controller that has not seen yet that the claim is gone; the cascade takes it by and by.
    if (request.is("GET", "/sandboxes/skiff-box") && fake.server.all(kube::kSandboxes).empty()) {
      put_sandbox_of(fake, claim.uid());
    }
    return std::nullopt;
  };
  auto removed = co_await remove_box(&fake, claim, {.patience = 1ms});
  CO_ASSERT_TRUE(!removed);
  EXPECT_EQ(removed.error().code, Errc::timeout);
}

CO_TEST(ClaimRemoval, WaitsForNothingWhereThatIsNotWanted, FakeCluster& fake) {
  const Object claim = put_claim(fake);
  put_sandbox_of(fake, "somebody");
  auto removed = co_await remove_box(&fake, claim, {.wait = false});
  EXPECT_TRUE(removed) << removed.error().message;
  EXPECT_EQ(fake.server.count("GET", "/sandboxes/skiff-box"), 0u);
}

}  // namespace
}  // namespace skiff::container
