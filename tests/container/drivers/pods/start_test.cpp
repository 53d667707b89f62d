#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/container/drivers/pods/driven_cluster.hpp"
#include "tests/support/reactor_test.hpp"

/// Tests of PodDriver::start, also when other processes start or stop the sandbox at the same time.
namespace skiff::container {
namespace {

using fakes::DrivenCluster;
using fakes::FakeAnswer;
using fakes::FakeRequest;
using fakes::put_sandbox;
using fakes::sandbox_pod;
using fakes::sandbox_record;
using fakes::silent_agent;
using nlohmann::json;
using namespace std::chrono_literals;

CO_TEST(PodDriver, StartsAgainUnderItsOwnNameWithItsLeaseBegunAnew, DrivenCluster& on) {
  PodRecord record = sandbox_record("box", "s1");
  record.stopped = true;
  record.pod = "skiff-pool-member-7";  // it came from a pool
  record.spec.lease.ttl = 60s;
  on.fake.server.put(kube::kConfigMaps, create_record(record, "default", "skiff-box"));
  auto up = co_await on.driver.start("box", 5s, fakes::ignore_progress);
  CO_ASSERT_TRUE(up.has_value()) << up.error().message;
  EXPECT_EQ(up->state, SandboxState::running);
  EXPECT_EQ(up->id, "s1");
  EXPECT_EQ(on.record_says("stopped"), "false");
  EXPECT_EQ(on.record_says("was_up"), "true");
  EXPECT_EQ(on.record_says("pod"), "skiff-box");
  EXPECT_NE(on.record_says("expires_at"), "");
  EXPECT_TRUE(on.fake.server.find(kube::kPods, "default", "skiff-box"));
}

CO_TEST(PodDriver, WaitsAsLongAsItsStartWasGivenAndNotAsItsRecordSays, DrivenCluster& on) {
  PodRecord record = sandbox_record("box", "s1");
  record.stopped = true;
  record.spec.wait = 1ms;
  on.fake.server.put(kube::kConfigMaps, create_record(record, "default", "skiff-box"));
  on.fake.server.runs_pods = false;
  on.fake.server.before = [&](const FakeRequest& request) -> std::optional<FakeAnswer> {
    if (request.is_watch() && on.fake.server.find(kube::kPods, "default", "skiff-box")) {
      on.fake.server.change(kube::kPods, "default", "skiff-box", fakes::FakeApiServer::make_ready);
    }
    return std::nullopt;
  };
  auto up = co_await on.driver.start("box", test::kReactorLimit, fakes::ignore_progress);
  CO_ASSERT_TRUE(up.has_value()) << up.error().message;
  EXPECT_EQ(up->state, SandboxState::running);
}

CO_TEST(PodDriver, IsStoppedAgainWhenItsAgentDoesNotAnswer, DrivenCluster& on) {
  PodRecord record = sandbox_record("box", "s1");
  record.stopped = true;
  on.fake.server.put(kube::kConfigMaps, create_record(record, "default", "skiff-box"));
  on.fake.server.agent = silent_agent;
  auto up = co_await on.driver.start("box", 1s, fakes::ignore_progress);
  CO_ASSERT_TRUE(!up);
  EXPECT_EQ(up.error().code, Errc::sandbox_failed);
  EXPECT_EQ(on.record_says("stopped"), "true");
  EXPECT_FALSE(on.fake.server.find(kube::kPods, "default", "skiff-box"));
}

CO_TEST(PodDriver, LeavesTheSuccessorOfWhatItFailedToStart, DrivenCluster& on) {
  PodRecord record = sandbox_record("box", "s1");
  record.stopped = true;
  on.fake.server.put(kube::kConfigMaps, create_record(record, "default", "skiff-box"));
  on.fake.server.agent = [&](const FakeRequest& request) {
    // Somebody removes it now, and makes another one of that name.
    if (on.record_says("stopped") == "false") {
      on.fake.server.erase(kube::kConfigMaps, "default", "skiff-box");
      put_sandbox(on.fake.server, "box", "s2");
    }
    return silent_agent(request);
  };
  auto up = co_await on.driver.start("box", 1s, fakes::ignore_progress);
  EXPECT_FALSE(up);
  const auto pod = on.fake.server.find(kube::kPods, "default", "skiff-box");
  CO_ASSERT_TRUE(pod.has_value()) << "the successor was stopped";
  EXPECT_EQ(pod->label(labels::kSandbox), "s2");
}

CO_TEST(PodDriver, LeavesWhatRunsAsItIs, DrivenCluster& on) {
  put_sandbox(on.fake.server, "box", "s1");
  auto up = co_await on.driver.start("box", 5s, fakes::ignore_progress);
  CO_ASSERT_TRUE(up.has_value()) << up.error().message;
  EXPECT_EQ(up->state, SandboxState::running);
  EXPECT_EQ(on.fake.server.count("PATCH", "/configmaps/skiff-box"), 0u);
  EXPECT_EQ(on.fake.server.count("POST", "/pods"), 0u);
}

CO_TEST(PodDriver, ReplacesAPodThatHasFailed, DrivenCluster& on) {
  const KnownPod known = put_sandbox(on.fake.server, "box", "s1");
  on.fake.server.change(kube::kPods, "default", "skiff-box",
                        [](json& pod) { pod["status"] = {{"phase", "Failed"}, {"reason", "Evicted"}}; });
  auto up = co_await on.driver.start("box", 5s, fakes::ignore_progress);
  CO_ASSERT_TRUE(up.has_value()) << up.error().message;
  const auto pod = on.fake.server.find(kube::kPods, "default", "skiff-box");
  CO_ASSERT_TRUE(pod.has_value());
  EXPECT_NE(pod->uid(), known.pod->uid());
  EXPECT_EQ(up->state, SandboxState::running);
}

CO_TEST(PodDriver, WaitsForTheEndOfAPodThatAStopHasLeft, DrivenCluster& on) {
  PodRecord record = sandbox_record("box", "s1");
  record.stopped = true;
  const KnownPod known = put_sandbox(on.fake.server, record);
  on.fake.server.pods_linger = true;
  on.fake.server.change(kube::kPods, "default", "skiff-box",
                        [](json& pod) { pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"; });
  on.fake.server.before = [&](const FakeRequest& request) -> std::optional<FakeAnswer> {
    const auto pod = on.fake.server.find(kube::kPods, "default", "skiff-box");
    if (request.is_watch() && pod && pod->is_being_deleted()) {
      on.fake.server.erase(kube::kPods, "default", "skiff-box");
    }
    return std::nullopt;
  };
  auto up = co_await on.driver.start("box", test::kReactorLimit, fakes::ignore_progress);
  CO_ASSERT_TRUE(up.has_value()) << up.error().message;
  EXPECT_EQ(up->state, SandboxState::running);
  EXPECT_NE(on.fake.server.find(kube::kPods, "default", "skiff-box")->uid(), known.pod->uid());
}

CO_TEST(PodDriver, LeavesThePodOfAStartThatCameFirst, DrivenCluster& on) {
  PodRecord record = sandbox_record("box", "s1");
  record.stopped = true;
  on.fake.server.put(kube::kConfigMaps, create_record(record, "default", "skiff-box"));
  std::string theirs;
  on.fake.server.before = [&](const FakeRequest& request) -> std::optional<FakeAnswer> {
    if (!theirs.empty() || !request.is("PATCH", "/configmaps/skiff-box")) return std::nullopt;
    on.fake.server.change(kube::kConfigMaps, "default", "skiff-box", [](json& object) {
      object["data"].update({{"start", "theirs"}, {"stopped", "false"}, {"was_up", "true"}});
    });
    theirs = on.fake.server.put(kube::kPods, sandbox_pod("box", "s1")).uid();
    return std::nullopt;
  };
  auto up = co_await on.driver.start("box", 5s, fakes::ignore_progress);
  CO_ASSERT_TRUE(up.has_value()) << up.error().message;
  EXPECT_EQ(up->state, SandboxState::running);
  EXPECT_EQ(on.fake.server.count("DELETE", "/pods/skiff-box"), 0u);
  EXPECT_EQ(on.fake.server.find(kube::kPods, "default", "skiff-box")->uid(), theirs);
  EXPECT_EQ(on.record_says("start"), "theirs");
}

CO_TEST(PodDriver, RemovesWhatItSawAndNotWhatAnotherStartHasMade, DrivenCluster& on) {
  put_sandbox(on.fake.server, "box", "s1");
  on.fake.server.change(kube::kPods, "default", "skiff-box",
                        [](json& pod) { pod["status"] = {{"phase", "Succeeded"}}; });
  std::string theirs;
  on.fake.server.before = [&](const FakeRequest& request) -> std::optional<FakeAnswer> {
    // Between our change of the record and the removal of the old Pod.
    if (theirs.empty() && request.is("DELETE", "/pods/skiff-box")) {
      theirs = on.fake.server.put(kube::kPods, sandbox_pod("box", "s1")).uid();
    }
    return std::nullopt;
  };
  auto up = co_await on.driver.start("box", 5s, fakes::ignore_progress);
  CO_ASSERT_TRUE(up.has_value()) << up.error().message;
  EXPECT_EQ(on.fake.server.find(kube::kPods, "default", "skiff-box")->uid(), theirs);
}

CO_TEST(PodDriver, GoesOnWhenTheAnswerToItsClaimIsLost, DrivenCluster& on) {
  PodRecord record = sandbox_record("box", "s1");
  record.stopped = true;
  on.fake.server.put(kube::kConfigMaps, create_record(record, "default", "skiff-box"));
  on.fake.server.before = [lost = false](const FakeRequest& request) mutable -> std::optional<FakeAnswer> {
    if (lost || !request.is("PATCH", "/configmaps/skiff-box")) return std::nullopt;
    lost = true;
    return fakes::FakeApiServer::lost();
  };
  auto up = co_await on.driver.start("box", 5s, fakes::ignore_progress);
  CO_ASSERT_TRUE(up.has_value()) << up.error().message;
  EXPECT_EQ(up->state, SandboxState::running);
  EXPECT_EQ(on.fake.server.count("POST", "/pods"), 1u);
}

CO_TEST(PodDriver, UndoesNoStartOfSomebodyElse, DrivenCluster& on) {
  PodRecord record = sandbox_record("box", "s1");
  record.stopped = true;
  on.fake.server.put(kube::kConfigMaps, create_record(record, "default", "skiff-box"));
  on.fake.server.before = [&](const FakeRequest& request) -> std::optional<FakeAnswer> {
    // Another `start` of the same sandbox is a little faster.
    if (request.is("POST", "/pods")) on.fake.server.put(kube::kPods, sandbox_pod("box", "s1"));
    return std::nullopt;
  };
  on.fake.server.agent = silent_agent;
  auto up = co_await on.driver.start("box", 1s, fakes::ignore_progress);
  EXPECT_FALSE(up);
  EXPECT_TRUE(on.fake.server.find(kube::kPods, "default", "skiff-box")) << "theirs was stopped";
  EXPECT_EQ(on.record_says("stopped"), "false");
}

CO_TEST(PodDriver, LeavesItsPodToTheOneWhoStartedItAfterwards, DrivenCluster& on) {
  PodRecord record = sandbox_record("box", "s1");
  record.stopped = true;
  on.fake.server.put(kube::kConfigMaps, create_record(record, "default", "skiff-box"));
  on.fake.server.agent = [&](const FakeRequest& request) {
    on.fake.server.change(kube::kConfigMaps, "default", "skiff-box",
                          [](json& object) { object["data"]["start"] = "theirs"; });
    return silent_agent(request);
  };
  auto up = co_await on.driver.start("box", 1s, fakes::ignore_progress);
  EXPECT_FALSE(up);
  EXPECT_TRUE(on.fake.server.find(kube::kPods, "default", "skiff-box"));
  EXPECT_EQ(on.record_says("stopped"), "false");
}

}  // namespace
}  // namespace skiff::container
