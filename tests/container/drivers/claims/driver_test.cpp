#include "container/drivers/claims/driver.hpp"

#include <gtest/gtest.h>

#include "tests/container/drivers/claims/claimed_cluster.hpp"
#include "tests/support/once.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container {
namespace {

using fakes::ClaimedCluster;
using fakes::FakeAnswer;
using fakes::FakeRequest;
using kube::Object;
using nlohmann::json;
using namespace std::chrono_literals;

CO_TEST(ClaimDriver, SaysWhatIsMissingWithoutAgentSandbox, ClaimedCluster& on) {
  on.fake.server.served.clear();
  auto found = co_await on.driver.get("box");
  CO_ASSERT_TRUE(!found);
  EXPECT_EQ(found.error().code, Errc::not_supported);
  EXPECT_TRUE(found.error().message.contains("agent-sandbox")) << found.error().message;
}

CO_TEST(ClaimDriver, TakesNoSandboxForItsOwnThatOthersMadeOrAClaimHas, ClaimedCluster& on) {
  on.put_bare("box");
  on.fake.server.change(kube::kSandboxes, "default", "skiff-box",
                        [](json& object) { object["metadata"]["labels"][labels::kManagedBy] = "helm"; });
  auto found = co_await on.driver.get("box");
  CO_ASSERT_TRUE(!found);
  EXPECT_EQ(found.error().code, Errc::sandbox_not_found);
  on.fake.server.change(kube::kSandboxes, "default", "skiff-box", [](json& object) {
    object["metadata"]["labels"][labels::kManagedBy] = "skiff";
    object["metadata"]["ownerReferences"] = json::array({{{"kind", "SandboxClaim"}, {"name", "c"}, {"uid", "u"}}});
  });
  auto removed = co_await on.driver.remove("box", {});
  CO_ASSERT_TRUE(removed.has_value());
  EXPECT_FALSE(*removed);
  EXPECT_TRUE(on.fake.server.find(kube::kSandboxes, "default", "skiff-box"));
}

CO_TEST(ClaimDriver, StopsBySuspendingAndWaitsForThePod, ClaimedCluster& on) {
  on.put_bare("box");
  on.fake.server.before = [&](const FakeRequest& request) -> std::optional<FakeAnswer> {
    // The controller deletes the Pod once it sees the patch.
    if (request.is("GET", "/pods/skiff-box")) on.fake.server.erase(kube::kPods, "default", "skiff-box");
    return std::nullopt;
  };
  auto stopped = co_await on.driver.stop("box", {});
  CO_ASSERT_TRUE(stopped.has_value()) << stopped.error().message;
  EXPECT_EQ(on.sandbox_says("/spec/operatingMode"), "Suspended");
  EXPECT_FALSE(on.sandbox_says("/spec").contains("shutdownTime")) << "what is stopped runs out of no time";
  auto sandbox = co_await on.driver.get("box");
  CO_ASSERT_TRUE(sandbox.has_value());
  EXPECT_EQ(sandbox->state, SandboxState::stopped);
  stopped = co_await on.driver.stop("box", {});
  EXPECT_TRUE(stopped) << "there is nothing to do";
  EXPECT_EQ(on.fake.server.count("PATCH", "/sandboxes/skiff-box"), 1u);
}

CO_TEST(ClaimDriver, SaysAtOnceToAServersClientsThatTheApiServerIsAway, ClaimedCluster& on) {
  on.put_bare("box");
  on.driver.keep_copies();
  CO_ASSERT_TRUE((co_await on.driver.get("box")).has_value());
  on.fake.server.before = [](const FakeRequest&) -> std::optional<FakeAnswer> {
    return fakes::FakeApiServer::refusal(500, "InternalError", "the storage is away");
  };
  CO_ASSERT_TRUE(!(co_await on.driver.get("box")).has_value());
  const auto away = co_await on.driver.check_answers();
  CO_ASSERT_TRUE(!away.has_value());
  EXPECT_EQ(away.error().code, Errc::cluster_unavailable);
  const auto gets = on.fake.server.count("GET", "/sandboxes/skiff-box");
  EXPECT_EQ((co_await on.driver.get("box")).error().code, Errc::cluster_unavailable);
  EXPECT_EQ((co_await on.driver.endpoint("box", {.scope = "read"})).error().code, Errc::cluster_unavailable);
  EXPECT_EQ((co_await on.driver.list({})).error().code, Errc::cluster_unavailable);
  EXPECT_EQ(on.fake.server.count("GET", "/sandboxes/skiff-box"), gets);
  on.fake.server.before = {};
  co_await test::once([&] { return !on.fake.cluster->is_in_doubt(); });
  CO_ASSERT_TRUE((co_await on.driver.get("box")).has_value());
}

CO_TEST(ClaimDriver, ExtendsTheAgentFirstAndThenTheObject, ClaimedCluster& on) {
  on.put_bare("box");
  json told;
  bool is_refused = true;
  on.fake.server.agent = [&](const FakeRequest& request) -> FakeAnswer {
    if (request.path != "/v1/lease") return {.body = "{}"};
    told = request.body;
    if (is_refused) return fakes::agent_refusal(422, R"({"code":"invalid_field","detail":"too long"})");
    return {.body = "{}"};
  };
  auto extended = co_await on.driver.extend("box", {.ttl = 600s, .idle_ttl = std::nullopt}, 5s);
  CO_ASSERT_TRUE(!extended);
  EXPECT_EQ(extended.error().message, "too long");
  EXPECT_EQ(on.fake.server.count("PATCH", "/sandboxes/skiff-box"), 0u);
  is_refused = false;
  on.fake.server.before = [&](const FakeRequest& request) -> std::optional<FakeAnswer> {
    const auto until = on.fake.cluster->client().transport().waited_for();
    EXPECT_GT(until, std::chrono::steady_clock::now()) << request.path << " is not waited for";
    return std::nullopt;
  };
  extended = co_await on.driver.extend("box", {.ttl = 600s, .idle_ttl = std::nullopt}, 5s);
  CO_ASSERT_TRUE(extended.has_value()) << extended.error().message;
  EXPECT_EQ(told, (json{{"ttl_ms", 600'000}}));
  EXPECT_TRUE(on.sandbox_says("/spec/shutdownTime").is_string());
  EXPECT_TRUE(extended->expires_at.has_value());
}

CO_TEST(ClaimDriver, RemovesTheVeryObjectThatItLookedAt, ClaimedCluster& on) {
  const Object first = on.put_bare("box");
  const std::string id = (co_await on.driver.get("box")).value().id;
  auto removed = co_await on.driver.remove_if("box", "s-other", {});
  CO_ASSERT_TRUE(removed.has_value());
  EXPECT_FALSE(*removed);
  std::optional<Object> successor;
  on.fake.server.before = [&](const FakeRequest& request) -> std::optional<FakeAnswer> {
    if (request.is("DELETE", "/sandboxes/skiff-box") && !successor) successor = on.put_bare("box");
    return std::nullopt;
  };
  removed = co_await on.driver.remove_if("box", id, {});
  EXPECT_TRUE(removed.has_value()) << "it is gone: " << removed.error().message;
  EXPECT_EQ(on.fake.server.last("DELETE", "/sandboxes/skiff-box").body["preconditions"], (json{{"uid", first.uid()}}));
  const auto there = on.fake.server.find(kube::kSandboxes, "default", "skiff-box");
  CO_ASSERT_TRUE(there && successor) << "a successor was deleted";
  EXPECT_EQ(there->uid(), successor->uid());
}

CO_TEST(ClaimDriver, DoesNotWaitForTheEndOfASuccessor, ClaimedCluster& on) {
  on.put_bare("box");
  on.fake.server.before = [&](const FakeRequest& request) -> std::optional<FakeAnswer> {
    const bool is_deleted = !on.fake.server.find(kube::kSandboxes, "default", "skiff-box");
    if (request.is("GET", "/sandboxes/skiff-box") && is_deleted) on.put_bare("box");
    return std::nullopt;
  };
  auto removed = co_await on.driver.remove("box", {});
  EXPECT_TRUE(removed.has_value()) << removed.error().message;
  EXPECT_TRUE(on.fake.server.find(kube::kSandboxes, "default", "skiff-box"));
}

CO_TEST(ClaimDriver, SeesAClaimThatBelongsToSomebodysObject, ClaimedCluster& on) {
  Object claim = fakes::ready_claim("box");
  claim.json["metadata"]["ownerReferences"] = json::array({{{"kind", "Workspace"}, {"name", "w"}, {"uid", "u"}}});
  on.fake.server.put(kube::kSandboxClaims, claim);
  auto found = co_await on.driver.get("box");
  EXPECT_TRUE(found.has_value()) << found.error().message;
  auto page = co_await on.driver.list({});
  CO_ASSERT_TRUE(page.has_value());
  EXPECT_EQ(page->items.size(), 1u);
}

CO_TEST(ClaimDriver, TellsThePodThatAClaimHasGot, ClaimedCluster& on) {
  on.put_bare("warm");
  Object claim = Object::make(kube::kSandboxClaims, "default", "skiff-box");
  labels::put_common(claim, "sandbox", "box", "ann");
  ClaimedCluster::put_ready(claim, "True");
  claim.json["status"]["sandbox"]["name"] = "skiff-warm";
  on.fake.server.put(kube::kSandboxClaims, std::move(claim));
  auto found = co_await on.driver.get("box");
  CO_ASSERT_TRUE(found.has_value()) << found.error().message;
  EXPECT_EQ(found->details.at("sandbox"), "skiff-warm");
  EXPECT_EQ(found->details.at("pod"), "skiff-warm");
  on.fake.server.erase(kube::kSandboxes, "default", "skiff-warm");
  found = co_await on.driver.get("box");
  CO_ASSERT_TRUE(found.has_value()) << found.error().message;
  EXPECT_FALSE(found->details.contains("pod"));
}

CO_TEST(ClaimDriver, TellsThePortThatTheAgentOfAClaimHas, ClaimedCluster& on) {
  on.put_bare("warm");
  on.fake.server.change(kube::kPods, "default", "skiff-warm",
                        [](json& pod) { pod["spec"]["containers"][0]["ports"][0]["containerPort"] = 7171; });
  Object claim = Object::make(kube::kSandboxClaims, "default", "skiff-box");
  labels::put_common(claim, "sandbox", "box", "ann");
  claim.json["status"]["sandbox"] = {{"name", "skiff-warm"}, {"podIPs", json::array({"10.0.0.7"})}};
  on.fake.server.put(kube::kSandboxClaims, std::move(claim));
  on.fake.server.before = [&](const FakeRequest& request) -> std::optional<FakeAnswer> {
    // The controller changes the claim meanwhile.
    if (request.is_watch() && request.path.ends_with("/sandboxclaims")) {
      on.fake.server.change(kube::kSandboxClaims, "default", "skiff-box", [](json& object) {
        Object changed{object};
        ClaimedCluster::put_ready(changed, "True");
        object = changed.json;
      });
    }
    return std::nullopt;
  };
  auto started = co_await on.driver.start("box", 10s, fakes::ignore_progress);
  CO_ASSERT_TRUE(started.has_value()) << started.error().message;
  EXPECT_EQ(started->address, "http://10.0.0.7:7171");
  auto listed = co_await on.driver.list({});
  CO_ASSERT_TRUE(listed.has_value() && !listed->items.empty());
  EXPECT_EQ(listed->items.front().name, "box");
  EXPECT_EQ(listed->items.front().address, "http://10.0.0.7:7171");
}

CO_TEST(ClaimDriver, RefusesToHurryAController, ClaimedCluster& on) {
  on.put_bare("box");
  auto removed = co_await on.driver.remove("box", {.force = true});
  CO_ASSERT_TRUE(!removed);
  EXPECT_EQ(removed.error().field, "--force");
  auto stopped = co_await on.driver.stop("box", {.grace = 5s});
  CO_ASSERT_TRUE(!stopped);
  EXPECT_EQ(stopped.error().field, "--grace-period");
  EXPECT_TRUE(on.fake.server.find(kube::kSandboxes, "default", "skiff-box"));
}

CO_TEST(ClaimDriver, ReachesNoAgentWhereTheTemplateRunsNone, ClaimedCluster& on) {
  on.put_bare("box");
  on.fake.server.change(kube::kPods, "default", "skiff-box", [](json& pod) {
    pod["spec"]["containers"] = json::array({{{"name", "main"}, {"image", "busybox"}}});
    pod["spec"].erase("initContainers");
  });
  auto endpoint = co_await on.driver.endpoint("box", {});
  CO_ASSERT_TRUE(!endpoint);
  EXPECT_EQ(endpoint.error().code, Errc::sandbox_failed);
  EXPECT_TRUE(endpoint.error().message.contains("skiff pool create")) << endpoint.error().message;
}

CO_TEST(ClaimDriver, ListsInPagesWhoseCursorLeadsToTheOtherKind, ClaimedCluster& on) {
  for (const std::string name : {"a", "b", "c"}) on.put_bare(name);
  auto page = co_await on.driver.list({.limit = 2});
  CO_ASSERT_TRUE(page.has_value()) << page.error().message;
  CO_ASSERT_TRUE(page->items.size() == 2u);
  EXPECT_EQ(page->items[0].name, "a");
  CO_ASSERT_TRUE(!page->next.empty());
  page = co_await on.driver.list({.limit = 2, .cursor = page->next});
  CO_ASSERT_TRUE(page && page->items.size() == 1u);
  EXPECT_EQ(page->items[0].name, "c");
  EXPECT_EQ(page->next, "");
  page = co_await on.driver.list({.cursor = "elsewhere"});
  CO_ASSERT_TRUE(!page);
  EXPECT_EQ(page.error().field, "--cursor");
}

CO_TEST(ClaimDriver, MakesNothingOfASpecThatAnObjectCanNotHold, ClaimedCluster& on) {
  SandboxSpec spec = fakes::plain_spec("box");
  spec.env["LARGE"] = std::string(std::size_t{300} << 10U, 'x');
  auto made = co_await on.driver.create(std::move(spec), fakes::ignore_progress);
  CO_ASSERT_TRUE(!made);
  EXPECT_EQ(made.error().code, Errc::invalid_field);
  EXPECT_TRUE(made.error().message.contains("300 KiB")) << made.error().message;
  EXPECT_EQ(on.fake.server.count("POST", "/sandboxes"), 0u);
}

// --- what others made -----------------------------------------------------------------------------------------------

/// As the SDK of agent-sandbox makes it.
Object foreign_claim(const std::string& name) {
  Object claim = Object::make(kube::kSandboxClaims, "default", name);
  claim.json["spec"]["warmPoolRef"]["name"] = "theirs";
  ClaimedCluster::put_ready(claim, "True");
  return claim;
}

CO_TEST(ClaimDriver, ShowsClaimsOfOthersOnlyToWhoAsksForThem, ClaimedCluster& on) {
  on.put_bare("box");
  on.fake.server.put(kube::kSandboxClaims, foreign_claim("theirs"));
  for (const SandboxFilter& filter : {SandboxFilter{}, SandboxFilter{.owner = "ann", .others = true},
                                      SandboxFilter{.labels = {{"a", "b"}}, .others = true}}) {
    auto page = co_await on.driver.list(filter);
    CO_ASSERT_TRUE(page.has_value()) << page.error().message;
    for (const Sandbox& sandbox : page->items) EXPECT_EQ(sandbox.name, "box");
  }
  auto page = co_await on.driver.list({.others = true});
  CO_ASSERT_TRUE(page && page->items.size() == 2u);
  EXPECT_EQ(page->items[0].name, "box");
  EXPECT_FALSE(page->items[0].details.contains("managed_by"));
  EXPECT_EQ(page->items[1].name, "claim/theirs");
  EXPECT_EQ(page->items[1].state, SandboxState::running);
  EXPECT_EQ(page->items[1].details.at("managed_by"), "somebody else");
}

CO_TEST(ClaimDriver, RemovesAClaimOfOthersByItsOwnNameAlone, ClaimedCluster& on) {
  on.fake.server.put(kube::kSandboxClaims, foreign_claim("box"));
  on.fake.server.put(kube::kSandboxClaims, foreign_claim("skiff-box"));
  auto removed = co_await on.driver.remove("box", {});
  CO_ASSERT_TRUE(removed.has_value()) << removed.error().message;
  EXPECT_FALSE(*removed) << "that is the name of one of ours";
  auto found = co_await on.driver.get("claim/box");
  CO_ASSERT_TRUE(found.has_value()) << found.error().message;
  EXPECT_EQ(found->name, "claim/box");
  removed = co_await on.driver.remove("claim/box", {});
  CO_ASSERT_TRUE(removed.has_value()) << removed.error().message;
  EXPECT_TRUE(*removed);
  EXPECT_FALSE(on.fake.server.find(kube::kSandboxClaims, "default", "box"));
  EXPECT_TRUE(on.fake.server.find(kube::kSandboxClaims, "default", "skiff-box"));
  removed = co_await on.driver.remove("claim/box", {});
  CO_ASSERT_TRUE(removed.has_value());
  EXPECT_FALSE(*removed);
}

CO_TEST(ClaimDriver, TakesNoneOfOursForAClaimOfOthers, ClaimedCluster& on) {
  Object ours = foreign_claim("skiff-box");
  labels::put_common(ours, "sandbox", "box", "ann");
  on.fake.server.put(kube::kSandboxClaims, std::move(ours));
  auto found = co_await on.driver.get("claim/skiff-box");
  CO_ASSERT_TRUE(!found);
  EXPECT_EQ(found.error().code, Errc::sandbox_not_found);
}

}  // namespace
}  // namespace skiff::container
