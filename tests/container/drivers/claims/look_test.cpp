#include "container/drivers/claims/look.hpp"

#include <gtest/gtest.h>

#include "tests/container/drivers/claims/claimed_cluster.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container {
namespace {

using fakes::ClaimedCluster;
using fakes::FakeAnswer;
using fakes::FakeApiServer;
using fakes::FakeRequest;
using kube::Object;
using nlohmann::json;
using namespace std::chrono_literals;

constexpr std::string_view kReplaced =
    "its Pod was deleted, by a drain of its node or by somebody, and a new one took its place";

std::string noted_uid(const ClaimedCluster& on, const kube::Resource& kind = kube::kSandboxes) {
  const auto object = on.fake.server.find(kind, "default", "skiff-box");
  const auto noted = object ? noted_pod(*object) : std::nullopt;
  return noted ? noted->uid : "";
}

/// Takes the note back, as if the creator had been killed before it wrote it.
void unnote(ClaimedCluster& on, const std::string& name) {
  on.fake.server.change(kube::kSandboxes, "default", name,
                        [](json& object) { object["metadata"]["annotations"].erase("skiff.dev/pod"); });
}

/// A claim of skiff's that is Ready, and of which nobody has noted that it is up; returns its Pod.
Object put_half_made_claim(ClaimedCluster& on) {
  on.put_bare("warm");
  Object claim = fakes::ready_claim("box");
  claim.json["status"]["sandbox"]["name"] = "skiff-warm";
  on.fake.server.put(kube::kSandboxClaims, std::move(claim));
  return on.fake.server.find(kube::kPods, "default", "skiff-warm").value();
}

/// Plays the controller: a suspended Sandbox loses its Pod, another one gets one.
void play_controller(ClaimedCluster& on) {
  on.fake.server.before = [&on, pod = on.fake.server.find(kube::kPods, "default", "skiff-box").value()](
                              const FakeRequest& request) -> std::optional<FakeAnswer> {
    if (!request.is("GET", "/pods/skiff-box")) return std::nullopt;
    if (on.sandbox_says("/spec/operatingMode") == "Suspended") {
      on.fake.server.erase(kube::kPods, "default", "skiff-box");
    } else if (!on.fake.server.find(kube::kPods, "default", "skiff-box")) {
      on.put_pod(pod);
    }
    return std::nullopt;
  };
}

CO_TEST(ClaimLook, TellsThatThePodWasReplaced, ClaimedCluster& on) {
  on.put_bare("box");
  EXPECT_EQ((co_await on.driver.get("box")).value().state, SandboxState::running);
  on.replace_pod("skiff-box");
  const Sandbox seen = (co_await on.driver.get("box")).value();
  EXPECT_EQ(seen.state, SandboxState::failed);
  EXPECT_EQ(seen.reason, kReplaced);
  EXPECT_TRUE(seen.was_broken) << "a start may bring it back";
  auto endpoint = co_await on.driver.endpoint("box", {});
  CO_ASSERT_TRUE(!endpoint);
  EXPECT_EQ(endpoint.error().code, Errc::sandbox_not_running);
  EXPECT_TRUE(endpoint.error().message.contains("skiff start box")) << endpoint.error().message;
  EXPECT_EQ(on.fake.server.count("PATCH", "/sandboxes/skiff-box"), 0u) << "a look changes nothing";
}

CO_TEST(ClaimLook, TellsThatThePodIsGoneBeforeTheControllerDoes, ClaimedCluster& on) {
  on.put_bare("box");
  on.fake.server.erase(kube::kPods, "default", "skiff-box");
  EXPECT_EQ((co_await on.driver.get("box")).value().state, SandboxState::failed);
  on.fake.server.change(kube::kSandboxes, "default", "skiff-box", [](json& object) {
    Object changed{object};
    ClaimedCluster::put_ready(changed, "False", "DependenciesNotReady");
    object = changed.json;
  });
  EXPECT_EQ((co_await on.driver.get("box")).value().state, SandboxState::failed) << "it is not a new sandbox";
}

CO_TEST(ClaimLook, NamesTheCauseThatAnEventGives, ClaimedCluster& on) {
  on.put_bare("box");
  Object event = Object::make(kube::kEvents, "default", "e");
  event.json["involvedObject"] = {{"kind", "Pod"}, {"name", "skiff-box"}, {"uid", noted_uid(on)}};
  event.json["reason"] = "TaintManagerEviction";
  event.json["message"] = "Marking for deletion Pod default/skiff-box";
  on.fake.server.put(kube::kEvents, std::move(event));
  on.replace_pod("skiff-box");
  const Sandbox seen = (co_await on.driver.get("box")).value();
  EXPECT_EQ(seen.details.at("ended_by"), "node_lost");
  EXPECT_TRUE(seen.reason.starts_with("its Pod is gone, and a new one took its place: ")) << seen.reason;
}

CO_TEST(ClaimLook, TakesAStopThatComesBetweenItsReadsForNoLoss, ClaimedCluster& on) {
  on.put_bare("box");
  on.fake.server.before = [&](const FakeRequest& request) -> std::optional<FakeAnswer> {
    if (!request.is("GET", "/pods/skiff-box")) return std::nullopt;
    on.fake.server.change(kube::kSandboxes, "default", "skiff-box", [](json& object) {
      object.merge_patch(mode_patch(SandboxApi::v1beta1, false));
      object.merge_patch(down_note(""));
    });
    on.fake.server.erase(kube::kPods, "default", "skiff-box");
    return std::nullopt;
  };
  EXPECT_EQ((co_await on.driver.get("box")).value().state, SandboxState::stopped);
}

CO_TEST(ClaimLook, ListsThePodsOnceAndReadsOnlyWhatIsUnclear, ClaimedCluster& on) {
  for (const std::string name : {"a", "b", "box"}) on.put_bare(name);
  auto page = co_await on.driver.list({});
  CO_ASSERT_TRUE(page && page->items.size() == 3u);
  for (const Sandbox& one : page->items) EXPECT_EQ(one.state, SandboxState::running) << one.name;
  EXPECT_EQ(on.fake.server.count("GET", "/pods"), 1u);
  EXPECT_EQ(on.fake.server.count("GET", "/pods/skiff-box"), 0u);
  on.replace_pod("skiff-box");
  page = co_await on.driver.list({});
  CO_ASSERT_TRUE(page && page->items.size() == 3u);
  EXPECT_EQ(page->items[0].state, SandboxState::running);
  EXPECT_EQ(page->items[2].state, SandboxState::failed);
  EXPECT_EQ(page->items[2].reason, kReplaced);
  EXPECT_EQ(on.fake.server.count("GET", "/pods/skiff-a"), 0u);
  on.fake.server.before = [](const FakeRequest& request) -> std::optional<FakeAnswer> {
    if (!request.is("GET", "/pods")) return std::nullopt;
    return FakeApiServer::refusal(403, "Forbidden", "pods is forbidden");
  };
  page = co_await on.driver.list({});
  CO_ASSERT_TRUE(page && page->items.size() == 3u);
  EXPECT_EQ(page->items[0].state, SandboxState::running) << "each is read by itself";
  EXPECT_EQ(page->items[2].state, SandboxState::failed);
}

CO_TEST(ClaimLook, SeesAClaimWhoseSandboxGotAnotherPod, ClaimedCluster& on) {
  const Object pod = put_half_made_claim(on);
  on.fake.server.change(kube::kSandboxClaims, "default", "skiff-box",
                        [&](json& claim) { claim.merge_patch(up_note(pod, "")); });
  EXPECT_EQ((co_await on.driver.get("box")).value().state, SandboxState::running);
  on.replace_pod("skiff-warm");
  EXPECT_EQ((co_await on.driver.get("box")).value().state, SandboxState::failed);
}

// --- starts ---------------------------------------------------------------------------------------------------------

CO_TEST(ClaimLook, StartsALostSandboxAnewAndSaysSo, ClaimedCluster& on) {
  on.put_bare("box");
  const Object empty = on.replace_pod("skiff-box");
  play_controller(on);
  auto started = co_await on.driver.start("box", 5s, fakes::ignore_progress);
  CO_ASSERT_TRUE(started.has_value()) << started.error().message;
  const std::string word = "it began anew, without the files that no volume keeps: " + std::string{kReplaced};
  EXPECT_EQ(started->reason, word);
  const auto pod = on.fake.server.find(kube::kPods, "default", "skiff-box");
  CO_ASSERT_TRUE(pod.has_value());
  EXPECT_NE(pod->uid(), empty.uid());
  EXPECT_EQ(noted_uid(on), pod->uid());
  const Sandbox seen = (co_await on.driver.get("box")).value();
  EXPECT_EQ(seen.state, SandboxState::running);
  EXPECT_EQ(seen.reason, word) << "also to whoever comes later";
  // A client that stops it knows that the files go.
  CO_ASSERT_TRUE((co_await on.driver.stop("box", {})).has_value());
  EXPECT_EQ(noted_uid(on), "");
  started = co_await on.driver.start("box", 5s, fakes::ignore_progress);
  CO_ASSERT_TRUE(started.has_value()) << started.error().message;
  EXPECT_EQ(started->reason, "");
}

CO_TEST(ClaimLook, StartsAClaimThatIsReadyAndWasOnlyBegun, ClaimedCluster& on) {
  const Object pod = put_half_made_claim(on);
  std::size_t told = 0;
  on.fake.server.agent = [&](const FakeRequest& request) -> FakeAnswer {
    if (request.path == "/v1/init") ++told;
    return {.body = "{}"};
  };
  auto started = co_await on.driver.start("box", test::kReactorLimit, fakes::ignore_progress);
  CO_ASSERT_TRUE(started.has_value()) << started.error().message;
  EXPECT_EQ(started->state, SandboxState::running);
  EXPECT_EQ(told, 1u) << "its creator was killed before it sent the environment";
  EXPECT_EQ(noted_uid(on, kube::kSandboxClaims), pod.uid());
  started = co_await on.driver.start("box", 5s, fakes::ignore_progress);
  CO_ASSERT_TRUE(started.has_value()) << started.error().message;
  EXPECT_EQ(told, 1u);
}

// --- sandboxes whose creator was killed -----------------------------------------------------------------------------

CO_TEST(ClaimLook, NotesASandboxThatIsUsed, ClaimedCluster& on) {
  on.put_bare("box");
  const std::string uid = noted_uid(on);
  unnote(on, "skiff-box");
  auto endpoint = co_await on.driver.endpoint("box", {});
  EXPECT_TRUE(endpoint.has_value()) << endpoint.error().message;
  EXPECT_EQ(noted_uid(on), uid);
}

CO_TEST(ClaimLook, UsesASandboxThatItMayNotNote, ClaimedCluster& on) {
  on.put_bare("box");
  unnote(on, "skiff-box");
  on.fake.server.before = [](const FakeRequest& request) -> std::optional<FakeAnswer> {
    if (request.method != "PATCH") return std::nullopt;
    return FakeApiServer::refusal(403, "Forbidden", "sandboxes is forbidden");
  };
  auto endpoint = co_await on.driver.endpoint("box", {});
  EXPECT_TRUE(endpoint.has_value()) << endpoint.error().message;
}

CO_TEST(ClaimLook, SaysThatASandboxWasNeverUpOnceItsCreatorMustHaveGivenUp, ClaimedCluster& on) {
  on.put_bare("box");
  unnote(on, "skiff-box");
  const auto create_at = [&](std::string_view time) {
    on.fake.server.change(kube::kSandboxes, "default", "skiff-box",
                          [&](json& object) { object["metadata"]["creationTimestamp"] = time; });
  };
  create_at(rfc3339(wall_now()));
  EXPECT_FALSE((co_await on.driver.get("box")).value().was_never_up);
  create_at("2026-01-01T00:00:00Z");
  EXPECT_TRUE((co_await on.driver.get("box")).value().was_never_up);
  auto page = co_await on.driver.list({});
  CO_ASSERT_TRUE(page && page->items.size() == 1u);
  EXPECT_TRUE(page->items[0].was_never_up);
  on.fake.server.change(kube::kSandboxes, "default", "skiff-box",
                        [](json& object) { object.merge_patch(down_note("")); });
  EXPECT_FALSE((co_await on.driver.get("box")).value().was_never_up) << "it was up, and is being started again";
}

}  // namespace
}  // namespace skiff::container
