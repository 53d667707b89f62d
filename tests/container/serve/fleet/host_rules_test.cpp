#include "container/serve/fleet/host_rules.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "container/drivers/claims/driver.hpp"
#include "container/serve/keys/access_token.hpp"
#include "tests/container/cluster/fake_cluster.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container::serve {
namespace {

using container::fakes::FakeAnswer;
using container::fakes::FakeCluster;
using container::fakes::FakeRequest;
using kube::Object;
using kube::fakes::FakeApiServer;
using nlohmann::json;
using namespace std::chrono_literals;

/// A fleet over the driver `claim`, of a cluster whose controller brings up whatever is watched.
struct ClaimedFixture final : Tenants, KeyStore {
  explicit ClaimedFixture(Executor executor)
      : fake{executor}, claims{fake.cluster.get(), container::fakes::through_the_proxy()} {
    fake.server.served = {{"agents.x-k8s.io/v1beta1", {"sandboxes"}},
                          {"extensions.agents.x-k8s.io/v1beta1", {"sandboxclaims", "sandboxwarmpools"}}};
    fake.server.before = [this](const FakeRequest& request) -> std::optional<FakeAnswer> {
      if (request.is_watch() && request.path.ends_with("/sandboxes")) run_sandboxes();
      if (request.is_watch() && request.path.ends_with("/sandboxclaims")) bind_claims();
      return std::nullopt;
    };
  }
  Task<Result<Driver*>> driver(std::string) override { co_return &claims; }
  [[nodiscard]] std::string place() const override { return "here"; }
  Task<Result<KeyRing>> read() override { co_return KeyRing{.token_secret = "secret", .keys = {}}; }
  Task<Result<>> change(std::function<Result<>(KeyRing&)>) override { co_return Result<>{}; }
  Task<> end() {
    co_await claims.close();
    co_await fake.stop();
  }

  static void make_ready(json& object) {
    object["status"]["conditions"] =
        json::array({{{"type", "Ready"}, {"status", "True"}, {"reason", "DependenciesReady"}, {"message", ""}}});
  }
  void run_sandboxes() {
    for (const Object& one : fake.server.all(kube::kSandboxes)) {
      if (one.json.contains("status")) continue;
      Object pod = Object::make(kube::kPods, "default", pod_name(one));
      pod.json["metadata"]["labels"] = one.json["spec"]["podTemplate"]["metadata"]["labels"];
      pod.json["spec"] = one.json["spec"]["podTemplate"]["spec"];
      pod.json["metadata"]["ownerReferences"] = json::array({one.owner_reference()});
      FakeApiServer::make_ready(pod.json);
      fake.server.put(kube::kPods, std::move(pod));
      fake.server.change(kube::kSandboxes, "default", one.name(), &make_ready);
    }
  }
  /// To a Sandbox of a template that runs skiffd.
  void bind_claims() {
    for (const Object& one : fake.server.all(kube::kSandboxClaims)) {
      if (one.json.contains("status")) continue;
      Object warm = Object::make(kube::kSandboxes, "default", "warm-1");
      ManifestContext context{.namespace_name = "default", .sandbox_id = "s1"};
      const Object pod = create_pod(container::fakes::plain_spec("warm"), context).value();
      warm.json["spec"]["podTemplate"] = {{"metadata", {{"labels", json::object()}}}, {"spec", pod.json["spec"]}};
      warm.json["metadata"]["ownerReferences"] = json::array({one.owner_reference()});
      fake.server.put(kube::kSandboxes, std::move(warm));
      run_sandboxes();
      fake.server.change(kube::kSandboxClaims, "default", one.name(), [](json& claim) {
        claim["status"]["sandbox"]["name"] = "warm-1";
        make_ready(claim);
      });
    }
  }

  FakeCluster fake;
  ClaimDriver claims;
  KeyCache keys{this};
  Templates templates = Templates::create(container::fakes::plain_spec({}), json::parse(R"({
      "kept": {"pod": {"volumes": ["1Gi:/workspace"]}}, "pooled": {"pod": {"pool": "warm"}}
  })"))
                            .value();
  Fleet fleet{this, &keys, &templates};
};

ApiKey key_of_a() {
  return {.name = "key-a", .sha256 = {}, .tenant = "a", .scopes = {}, .created_at = {}, .expires_ms = {}};
}

CO_TEST(HostRules, ABareSandboxIsMadeExtendedAndRemoved) {
  ClaimedFixture on{executor};
  auto made = co_await on.fleet.create(key_of_a(), {.name = "box", .labels = {{"u", "v"}}, .lease = {.ttl = 60s}});
  CO_ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->sandbox.state, SandboxState::running);
  EXPECT_EQ(own_label(made->sandbox, kKeyLabel), "key-a");
  auto page = co_await on.fleet.list("a", {.labels = {{"u", "v"}}});
  CO_ASSERT_TRUE(page && page->items.size() == 1U);
  EXPECT_TRUE(page->items[0].expires_at.has_value());
  EXPECT_FALSE((co_await on.fleet.get("b", "box")).has_value());
  auto extended = co_await on.fleet.extend("a", "box", {.ttl = 600s, .idle_ttl = {}});
  EXPECT_TRUE(extended) << extended.error().message;
  auto removed = co_await on.fleet.remove("a", "box");
  EXPECT_TRUE(removed) << removed.error().message;
  EXPECT_TRUE(on.fake.server.all(kube::kSandboxes).empty());
  co_await on.end();
}

CO_TEST(HostRules, AControllerIsNotHurried) {
  ClaimedFixture on{executor};
  auto made = co_await on.fleet.create(key_of_a(), {.name = "box", .template_name = "kept"});
  CO_ASSERT_TRUE(made) << made.error().message;
  for (const auto& refused :
       {co_await on.fleet.remove("a", "box", {.grace = 1s}), co_await on.fleet.stop("a", "box", {.grace = 1s})}) {
    CO_ASSERT_TRUE(!refused);
    EXPECT_EQ(refused.error().code, Errc::not_supported);
    EXPECT_EQ(refused.error().field, "grace_ms");
    EXPECT_TRUE(refused.error().message.contains("agent-sandbox")) << refused.error().message;
  }
  EXPECT_TRUE(on.fake.server.find(kube::kSandboxes, "default", "skiff-box"));
  co_await on.end();
}

CO_TEST(HostRules, WhatATemplateOfTheClusterDecidesIsRefusedBeforeAnythingIsMade) {
  ClaimedFixture on{executor};
  auto kept = co_await on.fleet.create(key_of_a(), {.template_name = "pooled", .on_end = OnEnd::stop});
  CO_ASSERT_TRUE(!kept);
  EXPECT_EQ(kept.error().code, Errc::not_supported);
  EXPECT_EQ(kept.error().field, "on_end");
  auto closed = co_await on.fleet.create(key_of_a(), {.template_name = "pooled", .network = "deny"});
  CO_ASSERT_TRUE(!closed);
  EXPECT_EQ(closed.error().code, Errc::not_supported);
  EXPECT_EQ(closed.error().field, "network");
  EXPECT_EQ(on.fake.server.count("POST", "/sandboxclaims"), 0U);
  co_await on.end();
}

CO_TEST(HostRules, AClaimWhoseAgentTakesNoAccessTokenIsTakenBack) {
  ClaimedFixture on{executor};
  Object pool = Object::make(kube::kSandboxWarmPools, "default", "warm");
  pool.json["spec"]["sandboxTemplateRef"]["name"] = "theirs";
  on.fake.server.put(kube::kSandboxWarmPools, std::move(pool));
  json told;
  on.fake.server.agent = [&told](const FakeRequest& request) -> FakeAnswer {
    if (request.path == "/v1/init") told = request.body;
    return {.body = "{}"};
  };
  auto made = co_await on.fleet.create(key_of_a(), {.name = "box", .template_name = "pooled", .env = {{"X", "1"}}});
  CO_ASSERT_TRUE(!made);
  EXPECT_EQ(made.error().code, Errc::bad_gateway) << made.error().message;
  EXPECT_EQ(told["env"], (json{{"X", "1"}})) << "nothing of the server's own is a variable of its commands";
  EXPECT_TRUE(on.fake.server.all(kube::kSandboxClaims).empty());
  co_await on.end();
}

}  // namespace
}  // namespace skiff::container::serve
