#include "container/drivers/pods/driver.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "tests/container/drivers/pods/driven_cluster.hpp"
#include "tests/support/reactor_test.hpp"

namespace skiff::container {
namespace {

using fakes::DrivenCluster;
using fakes::FakeAnswer;
using fakes::FakeCluster;
using fakes::FakeRequest;
using fakes::put_sandbox;
using fakes::sandbox_pod;
using fakes::sandbox_record;
using fakes::silent_agent;
using nlohmann::json;
using namespace std::chrono_literals;

// --- stop -----------------------------------------------------------------------------------------------------------

CO_TEST(PodDriver, SaysThatASandboxIsStoppedBeforeItsPodGoes, DrivenCluster& on) {
  put_sandbox(on.fake.server, "box", "s1");
  auto stopped = co_await on.driver.stop("box", {});
  EXPECT_TRUE(stopped) << stopped.error().message;
  EXPECT_EQ(on.record_says("stopped"), "true");
  EXPECT_FALSE(on.fake.server.find(kube::kPods, "default", "skiff-box"));
  EXPECT_LT(on.place_of("PATCH", "/configmaps/skiff-box"), on.place_of("DELETE", "/pods/skiff-box"));
  auto sandbox = co_await on.driver.get("box");
  CO_ASSERT_TRUE(sandbox.has_value());
  EXPECT_EQ(sandbox->state, SandboxState::stopped);
}

CO_TEST(PodDriver, LeavesThePodWhereTheRecordCanNotBeChanged, DrivenCluster& on) {
  put_sandbox(on.fake.server, "box", "s1");
  on.fake.server.before = [](const FakeRequest& request) -> std::optional<FakeAnswer> {
    if (request.method != "PATCH") return std::nullopt;
    return fakes::FakeApiServer::refusal(403, "Forbidden", "configmaps \"skiff-box\" is forbidden");
  };
  auto stopped = co_await on.driver.stop("box", {});
  EXPECT_FALSE(stopped);
  EXPECT_TRUE(on.fake.server.find(kube::kPods, "default", "skiff-box"));
}

CO_TEST(PodDriver, StopsNothingThatIsForOneRun, DrivenCluster& on) {
  on.fake.server.put(kube::kPods, sandbox_pod("box", "s1"));
  auto stopped = co_await on.driver.stop("box", {});
  CO_ASSERT_TRUE(!stopped);
  EXPECT_EQ(stopped.error().code, Errc::invalid_field);
  auto started = co_await on.driver.start("box", 5s, fakes::ignore_progress);
  CO_ASSERT_TRUE(started.has_value()) << "it runs: " << started.error().message;
  EXPECT_EQ(on.fake.server.count("DELETE", "/pods/skiff-box"), 0u);
}

// --- extend ---------------------------------------------------------------------------------------------------------

CO_TEST(PodDriver, TellsTheAgentOfALeaseAndThenTheRecord, DrivenCluster& on) {
  PodRecord record = sandbox_record("box", "s1");
  record.spec.lease = {.ttl = 60s, .idle_ttl = 30s};
  put_sandbox(on.fake.server, record);
  json told;
  on.fake.server.agent = [&](const FakeRequest& request) -> FakeAnswer {
    if (request.path == "/v1/lease") told = request.body;
    return {.body = "{}"};
  };
  auto extended = co_await on.driver.extend("box", {.ttl = 600s, .idle_ttl = std::nullopt}, 5s);
  CO_ASSERT_TRUE(extended.has_value()) << extended.error().message;
  EXPECT_EQ(told, json::parse(protocol::to_json(Lease{.ttl = 600s, .idle_ttl = std::nullopt})));
  const auto changed = read_record(*on.fake.server.find(kube::kConfigMaps, "default", "skiff-box"));
  CO_ASSERT_TRUE(changed.has_value());
  EXPECT_EQ(changed->spec.lease.ttl, 600s);
  EXPECT_EQ(changed->spec.lease.idle_ttl, 30s) << "what is absent stays as it was";
  EXPECT_TRUE(changed->expires_at.has_value());
}

CO_TEST(PodDriver, LeavesTheRecordWhenTheAgentRefusesALease, DrivenCluster& on) {
  PodRecord record = sandbox_record("box", "s1");
  record.spec.lease.ttl = 60s;
  put_sandbox(on.fake.server, record);
  on.fake.server.agent = [](const FakeRequest& request) -> FakeAnswer {
    if (request.path != "/v1/lease") return {.body = "{}"};
    return fakes::agent_refusal(422, R"({"code":"invalid_field","detail":"too long"})");
  };
  auto extended = co_await on.driver.extend("box", {.ttl = 600s, .idle_ttl = std::nullopt}, 5s);
  CO_ASSERT_TRUE(!extended);
  EXPECT_EQ(extended.error().message, "too long");
  EXPECT_EQ(on.fake.server.count("PATCH", "/configmaps/skiff-box"), 0u);
  EXPECT_EQ(on.fake.server.count("PUT", "/configmaps/skiff-box"), 0u);
}

CO_TEST(PodDriver, RenewsTheRecordByTheTimeThatTheAgentHas, DrivenCluster& on) {
  PodRecord record = sandbox_record("box", "s1");
  record.spec.lease.ttl = 60s;
  record.expires_at = "2020-01-01T00:00:00.000Z";
  put_sandbox(on.fake.server, record);
  const std::string in_an_hour = rfc3339(wall_now() + 1h);
  on.fake.server.agent = [](const FakeRequest&) -> FakeAnswer {
    return {.body = R"({"lease":{"ttl_ms":3600000,"expires_at":null,"idle_ttl_ms":null}})"};
  };
  auto extended = co_await on.driver.extend("box", {}, 5s);
  CO_ASSERT_TRUE(extended.has_value()) << extended.error().message;
  CO_ASSERT_TRUE(extended->expires_at.has_value());
  EXPECT_GE(*extended->expires_at, in_an_hour);
  EXPECT_GE(on.record_says("expires_at"), in_an_hour);
}

CO_TEST(PodDriver, LeavesTheRecordsTimeWhereTheAgentSaysNone, DrivenCluster& on) {
  PodRecord record = sandbox_record("box", "s1");
  record.expires_at = "2027-01-01T00:00:00.000Z";
  put_sandbox(on.fake.server, record);
  for (const char* body : {"{}", "[]", R"({"lease":{"ttl_ms":null}})", R"({"lease":7})",
                           R"({"lease":{"ttl_ms":99999999999999}})", R"({"lease":{"ttl_ms":"1h"}})"}) {
    on.fake.server.agent = [=](const FakeRequest&) -> FakeAnswer { return {.body = body}; };
    (void)co_await on.driver.extend("box", {}, 5s);
    EXPECT_EQ(on.record_says("expires_at"), "2027-01-01T00:00:00.000Z") << body;
  }
}

CO_TEST(PodDriver, WaitsForTheAgentThatIsToBeToldOfALease, DrivenCluster& on) {
  put_sandbox(on.fake.server, "box", "s1");
  int asked = 0;
  on.fake.server.agent = [&](const FakeRequest& request) -> FakeAnswer {
    return ++asked == 1 ? silent_agent(request) : FakeAnswer{.body = "{}"};
  };
  auto extended = co_await on.driver.extend("box", {.ttl = 600s, .idle_ttl = std::nullopt}, test::kReactorLimit);
  EXPECT_TRUE(extended) << extended.error().message;
  on.fake.server.agent = silent_agent;
  extended = co_await on.driver.extend("box", {.ttl = 600s, .idle_ttl = std::nullopt}, 1ms);
  CO_ASSERT_TRUE(!extended);
  EXPECT_TRUE(extended.error().message.contains("the agent of sandbox \"box\" does not answer"))
      << extended.error().message;
}

CO_TEST(PodDriver, ExtendsNothingThatIsStopped, DrivenCluster& on) {
  PodRecord record = sandbox_record("box", "s1");
  record.stopped = true;
  on.fake.server.put(kube::kConfigMaps, create_record(record, "default", "skiff-box"));
  auto extended = co_await on.driver.extend("box", {.ttl = 600s, .idle_ttl = std::nullopt}, 5s);
  CO_ASSERT_TRUE(!extended);
  EXPECT_EQ(extended.error().code, Errc::sandbox_not_running);
  EXPECT_EQ(on.record_says("stopped"), "true");
}

// --- remove ---------------------------------------------------------------------------------------------------------

CO_TEST(PodDriver, RemovesOnlyWhatHasTheId, DrivenCluster& on) {
  put_sandbox(on.fake.server, "box", "s1");
  auto removed = co_await on.driver.remove_if("box", "s9", {});
  CO_ASSERT_TRUE(removed.has_value());
  EXPECT_FALSE(*removed);
  EXPECT_TRUE(on.fake.server.find(kube::kPods, "default", "skiff-box"));
  removed = co_await on.driver.remove_if("box", "s1", {});
  CO_ASSERT_TRUE(removed.has_value());
  EXPECT_TRUE(*removed);
  EXPECT_FALSE(on.fake.server.find(kube::kPods, "default", "skiff-box"));
  EXPECT_FALSE(on.fake.server.find(kube::kConfigMaps, "default", "skiff-box"));
  removed = co_await on.driver.remove("box", {});
  CO_ASSERT_TRUE(removed.has_value());
  EXPECT_FALSE(*removed) << "there was none";
}

CO_TEST(PodDriver, RemovesOneWithFiveRequests) {
  DrivenCluster on{executor};
  on.fake.server.pods_linger = true;
  PodRecord record = sandbox_record("box", "s1");
  record.spec.pod.service = ServiceKind::clusterip;
  const KnownPod known = put_sandbox(on.fake.server, record);
  const kube::Object service =
      on.fake.server.put(kube::kServices, kube::Object::make(kube::kServices, "default", "skiff-box-svc"));
  on.fake.server.change(kube::kConfigMaps, "default", "skiff-box", [&](json& object) {
    object["data"]["pod_uid"] = known.pod->uid();
    object["data"]["service_uid"] = service.uid();
  });
  on.fake.server.before = [&](const FakeRequest& request) -> std::optional<FakeAnswer> {
    if (request.is_watch()) on.fake.server.erase(kube::kPods, "default", "skiff-box");
    return std::nullopt;
  };
  auto removed = co_await on.driver.remove("box", {});
  CO_ASSERT_TRUE(removed.has_value()) << removed.error().message;
  EXPECT_TRUE(*removed);
  std::string all;
  for (const FakeRequest& one : on.fake.server.requests()) all += one.method + " " + one.path + "\n";
  EXPECT_LE(on.fake.server.requests().size(), 5u) << all;
  EXPECT_TRUE(on.fake.server.all(kube::kPods).empty());
  EXPECT_TRUE(on.fake.server.all(kube::kServices).empty());
  co_await on.stop();
}

CO_TEST(PodDriver, KnowsWhatItMadeByItsUid, DrivenCluster& on) {
  PodRecord record = sandbox_record("box", "s1");
  record.stopped = true;
  record.spec.pod.service = ServiceKind::clusterip;
  record.service_uid = "uid-of-an-older-one";
  on.fake.server.put(kube::kConfigMaps, create_record(record, "default", "skiff-box"));
  auto up = co_await on.driver.start("box", 5s, fakes::ignore_progress);
  CO_ASSERT_TRUE(up.has_value()) << up.error().message;
  EXPECT_EQ(on.record_says("pod_uid"), on.fake.server.find(kube::kPods, "default", "skiff-box")->uid());
  EXPECT_EQ(on.record_says("service_uid"), on.fake.server.find(kube::kServices, "default", "skiff-box-svc")->uid());
}

/// Record and Pod as a skiff with another --name-prefix makes them.
void put_with_prefix(FakeCluster& fake, const std::string& prefix, const std::string& id) {
  PodRecord record = sandbox_record("box", id);
  record.pod = prefix + "box";
  fake.server.put(kube::kConfigMaps, create_record(record, "default", record.pod));
  kube::Object pod = sandbox_pod("box", id);
  pod.json["metadata"]["name"] = record.pod;
  fake.server.put(kube::kPods, std::move(pod));
}

CO_TEST(PodDriver, RemovesWhatItListsAlsoWithAnotherPrefix, DrivenCluster& on) {
  put_with_prefix(on.fake, "other-", "s1");
  auto page = co_await on.driver.list({});
  CO_ASSERT_TRUE(page && page->items.size() == 1u);
  auto removed = co_await on.driver.remove_if(page->items[0].name, page->items[0].id, {});
  CO_ASSERT_TRUE(removed.has_value()) << removed.error().message;
  EXPECT_TRUE(*removed);
  EXPECT_TRUE(on.fake.server.all(kube::kConfigMaps).empty());
  EXPECT_TRUE(on.fake.server.all(kube::kPods).empty());
  kube::Object run = sandbox_pod("box", "s2");
  run.json["metadata"]["name"] = "other-box";
  on.fake.server.put(kube::kPods, run);
  removed = co_await on.driver.remove("box", {});
  CO_ASSERT_TRUE(removed.has_value()) << removed.error().message;
  EXPECT_TRUE(*removed);
}

CO_TEST(PodDriver, AsksWhichOfSeveralPrefixesIsMeant, DrivenCluster& on) {
  put_with_prefix(on.fake, "a-", "s1");
  put_with_prefix(on.fake, "b-", "s2");
  auto removed = co_await on.driver.remove("box", {});
  CO_ASSERT_TRUE(!removed);
  EXPECT_EQ(removed.error().code, Errc::sandbox_conflict);
  EXPECT_TRUE(removed.error().message.contains(" a-box b-box;")) << removed.error().message;
  removed = co_await on.driver.remove_if("box", "s2", {});
  CO_ASSERT_TRUE(removed.has_value());
  EXPECT_TRUE(on.fake.server.find(kube::kPods, "default", "a-box"));
  EXPECT_FALSE(on.fake.server.find(kube::kPods, "default", "b-box"));
}

CO_TEST(PodDriver, RemovesNothingThatIsNoLongerAsItWasWanted, DrivenCluster& on) {
  put_sandbox(on.fake.server, "box", "s1");
  std::optional<SandboxState> asked;
  Removal how;
  how.only_if = [&](const Sandbox& now) {
    asked = now.state;
    return now.state == SandboxState::failed;
  };
  auto removed = co_await on.driver.remove_if("box", "s1", how);
  CO_ASSERT_TRUE(removed.has_value());
  EXPECT_FALSE(*removed);
  EXPECT_EQ(asked, SandboxState::running);
  EXPECT_TRUE(on.fake.server.find(kube::kPods, "default", "skiff-box"));
  on.fake.server.erase(kube::kPods, "default", "skiff-box");
  removed = co_await on.driver.remove_if("box", "s1", how);
  CO_ASSERT_TRUE(removed.has_value());
  EXPECT_TRUE(*removed);
}

CO_TEST(PodDriver, SaysThatItBeganAnewWithoutTheFilesOfOneThatWasEvicted, DrivenCluster& on) {
  PodRecord record = sandbox_record("box", "s1");
  record.was_up = true;
  put_sandbox(on.fake.server, record);
  on.fake.server.change(kube::kPods, "default", "skiff-box", [](json& pod) {
    pod["status"] = {{"phase", "Failed"}, {"reason", "Evicted"}, {"message", "disk"}};
  });
  auto started = co_await on.driver.start("box", 5s, fakes::ignore_progress);
  CO_ASSERT_TRUE(started.has_value()) << started.error().message;
  const std::string word =
      "it began anew, without the files that no volume keeps: it was evicted by its node (Evicted): disk";
  EXPECT_EQ(started->state, SandboxState::running);
  EXPECT_EQ(started->reason, word);
  auto seen = co_await on.driver.get("box");
  CO_ASSERT_TRUE(seen.has_value());
  EXPECT_EQ(seen->reason, word) << "also to whoever comes later";
  // A user who stops it knows that its files go.
  CO_ASSERT_TRUE((co_await on.driver.stop("box", {})).has_value());
  started = co_await on.driver.start("box", 5s, fakes::ignore_progress);
  CO_ASSERT_TRUE(started.has_value());
  EXPECT_EQ(started->reason, "");
}

CO_TEST(PodDriver, EndsAWaitWhenItSaysAlsoWhereNothingAnswersForThePod, DrivenCluster& on) {
  on.fake.server.runs_pods = false;
  on.fake.server.pods_linger = true;
  // Its owner's end does not end it: that is for its node to do.
  on.fake.server.before = [&](const FakeRequest& request) -> std::optional<FakeAnswer> {
    if (!request.is("DELETE", "/configmaps/skiff-box")) return std::nullopt;
    on.fake.server.change(kube::kPods, "default", "skiff-box",
                          [](json& pod) { pod["metadata"].erase("ownerReferences"); });
    return std::nullopt;
  };
  SandboxSpec spec = fakes::plain_spec("box");
  spec.wait = 100ms;
  auto made = co_await on.driver.create(std::move(spec), fakes::ignore_progress);
  CO_ASSERT_TRUE(!made);
  EXPECT_EQ(made.error().code, Errc::sandbox_failed);
  EXPECT_TRUE(made.error().message.ends_with("; what it had made is being removed")) << made.error().message;
  EXPECT_EQ(on.record_says("pod"), "there is no record");
  const auto left = on.fake.server.find(kube::kPods, "default", "skiff-box");
  EXPECT_TRUE(left && left->is_being_deleted());
}

CO_TEST(PodDriver, TellsHowAPodEndedThatIsGone, DrivenCluster& on) {
  PodRecord record = sandbox_record("box", "s1");
  record.was_up = true;
  record.pod_uid = "uid-of-it";
  put_sandbox(on.fake.server, record);
  on.fake.server.erase(kube::kPods, "default", "skiff-box");
  const auto said = [&](std::string_view reason) {
    kube::Object event = kube::Object::make(kube::kEvents, "default", "e-" + std::string{reason});
    event.json["involvedObject"] = {{"kind", "Pod"}, {"name", "skiff-box"}, {"uid", "uid-of-it"}};
    event.json["reason"] = reason;
    event.json["message"] = "by a Pod on node0";
    on.fake.server.put(kube::kEvents, std::move(event));
  };
  said("Killing");
  auto sandbox = co_await on.driver.get("box");
  CO_ASSERT_TRUE(sandbox.has_value());
  EXPECT_EQ(sandbox->reason, "its pod was deleted: by a drain of its node, or by somebody");
  said("Preempted");
  sandbox = co_await on.driver.get("box");
  CO_ASSERT_TRUE(sandbox.has_value());
  EXPECT_EQ(sandbox->reason, "its pod is gone: it was preempted by a Pod of higher priority: by a Pod on node0");
  EXPECT_EQ(sandbox->details["ended_by"], "preemption");
  EXPECT_TRUE(sandbox->was_broken);
  auto listed = co_await on.driver.list({});
  CO_ASSERT_TRUE(listed.has_value() && listed->items.size() == 1);
  EXPECT_EQ(listed->items[0].reason, sandbox->reason);
}

CO_TEST(PodDriver, TellsWhatTheControllerOfTaintsHasDone, DrivenCluster& on) {
  PodRecord record = sandbox_record("box", "s1");
  record.was_up = true;
  record.pod_uid = "uid-of-it";
  record.started_at = "2026-11-26T10:00:00Z";
  put_sandbox(on.fake.server, record);
  on.fake.server.erase(kube::kPods, "default", "skiff-box");
  const auto ended_by = [&](std::string_view at, std::string_view message) -> Task<std::string> {
    kube::Object event = kube::Object::make(kube::kEvents, "default", "e");
    event.json["metadata"]["creationTimestamp"] = at;
    event.json["involvedObject"] = {{"kind", "Pod"}, {"name", "skiff-box"}};
    event.json["reason"] = "TaintManagerEviction";
    event.json["message"] = message;
    on.fake.server.put(kube::kEvents, std::move(event));
    auto sandbox = co_await on.driver.get("box");
    co_return sandbox ? sandbox->details["ended_by"] : "";
  };
  constexpr std::string_view kMarked = "Marking for deletion Pod default/skiff-box";
  EXPECT_EQ(co_await ended_by("2026-11-26T09:00:00Z", kMarked), "") << "it was about the one before";
  EXPECT_EQ(co_await ended_by("2026-11-26T11:00:00Z", "Cancelling deletion of Pod default/skiff-box"), "");
  EXPECT_EQ(co_await ended_by("2026-11-26T11:00:00Z", kMarked), "node_lost");
}

CO_TEST(PodDriver, TellsThatTheNodeIsGone, DrivenCluster& on) {
  PodRecord record = sandbox_record("box", "s1");
  record.was_up = true;
  record.pod_uid = "uid-of-it";
  record.node = "node0";
  record.started_at = "2026-11-26T10:00:00Z";
  put_sandbox(on.fake.server, record);
  on.fake.server.erase(kube::kPods, "default", "skiff-box");
  const auto ended_by = [&](std::string_view node_made) -> Task<std::string> {
    kube::Object node = kube::Object::make(kube::kNodes, "", "node0");
    node.json["metadata"]["creationTimestamp"] = node_made;
    on.fake.server.put(kube::kNodes, std::move(node));
    auto sandbox = co_await on.driver.get("box");
    co_return sandbox ? sandbox->details["ended_by"] : "";
  };
  EXPECT_EQ(co_await ended_by("2026-11-26T09:00:00Z"), "") << "somebody has deleted the Pod";
  EXPECT_EQ(co_await ended_by("2026-11-26T11:00:00Z"), "node_lost") << "another one has its name";
  on.fake.server.erase(kube::kNodes, "", "node0");
  auto sandbox = co_await on.driver.get("box");
  CO_ASSERT_TRUE(sandbox.has_value());
  EXPECT_EQ(sandbox->reason, "its pod is gone: its node node0 is gone");
  EXPECT_EQ(sandbox->details["ended_by"], "node_lost");
}

CO_TEST(PodDriver, SaysOfOneThatIsUsedThatItWasUp, DrivenCluster& on) {
  PodRecord record = sandbox_record("box", "s1");
  record.was_up = false;
  put_sandbox(on.fake.server, record);
  auto connection = co_await on.driver.dial("box", 80);
  EXPECT_EQ(on.record_says("was_up"), "true");
  on.fake.server.erase(kube::kPods, "default", "skiff-box");
  auto sandbox = co_await on.driver.get("box");
  CO_ASSERT_TRUE(sandbox.has_value());
  EXPECT_EQ(sandbox->state, SandboxState::failed);
  EXPECT_FALSE(sandbox->was_never_up) << "somebody may have files in it";
}

CO_TEST(PodDriver, UsesOneWhoseRecordItMayNotChange, DrivenCluster& on) {
  PodRecord record = sandbox_record("box", "s1");
  record.was_up = false;
  put_sandbox(on.fake.server, record);
  on.fake.server.before = [](const FakeRequest& request) -> std::optional<FakeAnswer> {
    if (request.method != "PATCH") return std::nullopt;
    return fakes::FakeApiServer::refusal(403, "Forbidden", "configmaps \"skiff-box\" is forbidden");
  };
  auto endpoint = co_await on.driver.endpoint("box", {});
  EXPECT_TRUE(endpoint.has_value()) << endpoint.error().message;
}

CO_TEST(PodDriver, ReachesNoAgentOfASandboxThatDoesNotRun, DrivenCluster& on) {
  put_sandbox(on.fake.server, "box", "s1");
  on.fake.server.change(kube::kPods, "default", "skiff-box", [](json& pod) { pod["status"] = {{"phase", "Failed"}}; });
  auto endpoint = co_await on.driver.endpoint("box", {});
  CO_ASSERT_TRUE(!endpoint);
  EXPECT_EQ(endpoint.error().code, Errc::sandbox_not_running);
  auto connection = co_await on.driver.dial("box", 80);
  CO_ASSERT_TRUE(!connection);
  EXPECT_EQ(connection.error().code, Errc::sandbox_not_running);
}

}  // namespace
}  // namespace skiff::container
