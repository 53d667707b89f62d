#include "container/drivers/pods/record.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "container/cluster/labels.hpp"
#include "container/cluster/pod/pod_manifest.hpp"
#include "container/cluster/signing_secret.hpp"
#include "container/net/time.hpp"

namespace skiff::container {
namespace {

using nlohmann::json;

PodRecord some_record() {
  PodRecord record{.id = "s1", .namespace_name = "ns", .pod = "skiff-box"};
  record.spec = {
      .name = "box", .image = "busybox", .owner = "ann@host", .env = {{"A", "b"}}, .labels = {{"team", "x"}}};
  record.spec.lease.ttl = std::chrono::hours{1};
  record.spec.pod.network = "deny";
  record.expires_at = "2027-01-01T00:00:00.000Z";
  return record;
}

kube::Object config_map_of(const PodRecord& record, std::chrono::seconds age) {
  kube::Object object = create_record(record, "ns", "skiff-box");
  object.json["metadata"]["creationTimestamp"] = net::format_time(wall_now() - age);
  return object;
}

kube::Object running_pod() {
  kube::Object pod = kube::Object::make(kube::kPods, "ns", "skiff-box");
  pod.json["spec"]["nodeName"] = "node0";
  pod.json["spec"]["containers"] = json::array({json{{"name", "sandbox"}, {"image", "busybox"}}});
  pod.json["status"] = {{"phase", "Running"},
                        {"podIP", "10.0.0.7"},
                        {"conditions", json::array({json{{"type", "Ready"}, {"status", "True"}}})}};
  return pod;
}

json ended_status(std::string_view phase, int status, std::string_view message) {
  const json container{
      {"name", "sandbox"},
      {"state",
       {{"terminated", {{"exitCode", status}, {"message", message}, {"finishedAt", "2026-01-01T09:00:00Z"}}}}}};
  return {{"phase", phase}, {"containerStatuses", json::array({container})}};
}

TEST(PodRecord, IsReadAsItWasWritten) {
  const PodRecord record = some_record();
  const auto again = read_record(create_record(record, "ns", "skiff-box"));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(protocol::to_json(again->spec), protocol::to_json(record.spec));
  EXPECT_EQ(again->id, "s1");
  EXPECT_EQ(again->namespace_name, "ns");
  EXPECT_EQ(again->pod, "skiff-box");
  EXPECT_EQ(again->expires_at, record.expires_at);
  EXPECT_FALSE(again->stopped);
}

TEST(PodRecord, ThatSomebodyElseWroteIsRefused) {
  kube::Object object = create_record(some_record(), "ns", "skiff-box");
  object.json["data"]["spec"] = "{";
  const auto read = read_record(object);
  ASSERT_FALSE(read);
  EXPECT_TRUE(read.error().message.contains("skiff rm"));
  const Sandbox damaged = describe_damaged(object, read.error());
  EXPECT_EQ(damaged.name, "box");
  EXPECT_EQ(damaged.owner, "ann@host");
  EXPECT_EQ(damaged.state, SandboxState::failed);
}

TEST(PodRecord, AFieldOfANewerSkiffIsPassedOver) {
  kube::Object object = create_record(some_record(), "ns", "skiff-box");
  json spec = json::parse(object.text({"data", "spec"}));
  spec["colour"] = "red";
  object.json["data"]["spec"] = spec.dump();
  EXPECT_TRUE(read_record(object));
}

TEST(PodRecord, StatesFollowFromRecordAndPod) {
  PodRecord record = some_record();
  const kube::Object young = config_map_of(record, std::chrono::seconds{1});
  const kube::Object old = config_map_of(record, std::chrono::hours{1});
  EXPECT_EQ(describe(record, young, nullptr, wall_now()).state, SandboxState::creating);
  EXPECT_EQ(describe(record, old, nullptr, wall_now()).state, SandboxState::failed);

  const Sandbox pod = describe_pod(running_pod());
  const Sandbox running = describe(record, old, &pod, wall_now());
  EXPECT_EQ(running.state, SandboxState::running);
  EXPECT_EQ(running.expires_at, record.expires_at);
  EXPECT_EQ(running.address, "http://skiff-box-svc.ns:7070");
  EXPECT_EQ(running.details.at("node"), "node0");
  EXPECT_FALSE(running.details.contains("pool"));
  record.spec.pod.pool = "warm";
  EXPECT_EQ(describe(record, old, &pod, wall_now()).details.at("pool"), "warm");

  kube::Object over = running_pod();
  over.json["status"] = ended_status("Succeeded", 0, R"({"ended_by":"lease","why":"the lease is over"})");
  Sandbox alone = describe_pod(over);
  EXPECT_EQ(describe(record, old, &alone, wall_now()).state, SandboxState::ended);
  EXPECT_EQ(describe(record, old, &alone, wall_now()).reason, "the lease is over");
  EXPECT_FALSE(describe(record, old, &alone, wall_now()).expires_at);
  over.json["status"] = {{"phase", "Failed"}, {"reason", "Evicted"}, {"message", "disk"}};
  alone = describe_pod(over);
  EXPECT_EQ(describe(record, old, &alone, wall_now()).reason, "it was evicted by its node (Evicted): disk");

  record.stopped = true;
  EXPECT_EQ(describe(record, old, nullptr, wall_now()).state, SandboxState::stopped);
}

TEST(PodRecord, OneThatEndedWellWithoutAWordIsKept) {
  PodRecord record = some_record();
  record.was_up = true;
  const kube::Object old = config_map_of(record, std::chrono::hours{1});
  kube::Object over = running_pod();
  over.json["status"] = ended_status("Succeeded", 0, "");
  const Sandbox alone = describe_pod(over);
  const Sandbox kept = describe(record, old, &alone, wall_now());
  EXPECT_EQ(kept.state, SandboxState::failed);
  EXPECT_TRUE(kept.was_broken);
  EXPECT_FALSE(kept.was_never_up);
  EXPECT_EQ(kept.expires_at, record.expires_at) << "until then it is kept";
  EXPECT_EQ(kept.details.at("ended_by"), "unsaid");
  // An agent of an older release says nothing: its record does.
  record.expires_at = "2026-01-01T08:59:00.000Z";
  const Sandbox over_by_record = describe(record, old, &alone, wall_now());
  EXPECT_EQ(over_by_record.state, SandboxState::ended);
  EXPECT_FALSE(over_by_record.was_broken);
}

TEST(PodRecord, OneWhosePhaseIsLateHasEndedAllTheSame) {
  kube::Object pod = running_pod();
  pod.json["status"] = ended_status("Running", 0, R"({"ended_by":"lease","why":"over"})");
  EXPECT_EQ(describe_pod(pod).state, SandboxState::ended);
  EXPECT_EQ(describe_pod(pod).details.at("ended_by"), "lease");
  pod.json["status"] = ended_status("Running", 143, "");
  EXPECT_TRUE(describe_pod(pod).was_broken);
}

TEST(PodRecord, WhatHasFilesIsKeptHoweverItFailed) {
  PodRecord record = some_record();
  const kube::Object old = config_map_of(record, std::chrono::hours{1});
  kube::Object pod = running_pod();
  const auto seen = [&] {
    const Sandbox alone = describe_pod(pod);
    return describe(record, old, &alone, wall_now());
  };
  pod.json["status"] = ended_status("Failed", 3, "");
  EXPECT_TRUE(seen().was_never_up) << "nothing is in it";
  record.was_up = true;
  EXPECT_TRUE(seen().was_broken && !seen().was_never_up);
  // Started again, with an image that can't be pulled any more.
  record.was_up = false;
  record.begun_at = rfc3339(wall_now() - std::chrono::hours{1});
  const json waiting{{"name", "sandbox"}, {"state", {{"waiting", {{"reason", "ImagePullBackOff"}}}}}};
  pod.json["status"] = {{"phase", "Pending"}, {"containerStatuses", json::array({waiting})}};
  EXPECT_EQ(seen().state, SandboxState::failed);
  EXPECT_TRUE(seen().was_broken && !seen().was_never_up);
}

TEST(PodRecord, AnOldOneThatIsJustBeingStartedHasNotLostItsPod) {
  PodRecord record = some_record();
  const kube::Object old = config_map_of(record, std::chrono::hours{1});
  record.begun_at = rfc3339(wall_now() - std::chrono::seconds{1});
  EXPECT_EQ(describe(record, old, nullptr, wall_now()).state, SandboxState::creating);
  record.begun_at = rfc3339(wall_now() - std::chrono::hours{1});
  EXPECT_EQ(describe(record, old, nullptr, wall_now()).state, SandboxState::failed);
}

TEST(PodRecord, OneThatIsBeingMadeIsSoByTheClockOfTheServer) {
  const PodRecord record = some_record();
  const kube::Object young = config_map_of(record, std::chrono::hours{1});  // by our clock, which is an hour ahead
  const WallTime now = *young.created() + std::chrono::seconds{1};
  EXPECT_EQ(describe(record, young, nullptr, now).state, SandboxState::creating);
  // It is being created while its `up` waits, and a little longer.
  EXPECT_EQ(describe(record, young, nullptr, now + record.spec.wait).state, SandboxState::creating);
  EXPECT_EQ(describe(record, young, nullptr, now + record.spec.wait + std::chrono::minutes{2}).state,
            SandboxState::failed);
}

TEST(PodRecord, OneThatNeverHadAnAgentIsToldApartFromOneThatHas) {
  PodRecord record = some_record();
  const kube::Object old = config_map_of(record, std::chrono::hours{1});
  EXPECT_TRUE(describe(record, old, nullptr, wall_now()).was_never_up);
  EXPECT_FALSE(describe(record, old, nullptr, *old.created()).was_never_up) << "it is being made";
  EXPECT_FALSE(describe_unseen(record, old, {Errc::io_error, "away"}).was_never_up);
  record.was_up = true;
  EXPECT_FALSE(describe(record, old, nullptr, wall_now()).was_never_up);
  // Started again, which was broken off: its volumes are there.
  record.was_up = false;
  record.begun_at = rfc3339(wall_now() - std::chrono::hours{1});
  const Sandbox again = describe(record, old, nullptr, wall_now());
  EXPECT_EQ(again.state, SandboxState::failed);
  EXPECT_FALSE(again.was_never_up);
}

TEST(PodRecord, OneThatRunsAndThatNobodyWasToldOfIsKnown) {
  PodRecord record = some_record();
  const kube::Object old = config_map_of(record, std::chrono::hours{1});
  const Sandbox pod = describe_pod(running_pod());
  EXPECT_TRUE(describe(record, old, &pod, wall_now()).was_never_up);
  EXPECT_FALSE(describe(record, old, &pod, *old.created() + record.spec.wait).was_never_up) << "somebody waits";
  record.was_up = true;
  EXPECT_FALSE(describe(record, old, &pod, wall_now()).was_never_up);
}

TEST(PodRecord, WhatTheClusterBrokeIsToldApartFromWhatEndedByItself) {
  const auto broken = [](json status) {
    kube::Object pod = running_pod();
    pod.json["status"] = std::move(status);
    return describe_pod(pod).was_broken;
  };
  const json disrupted = json::array({json{{"type", "DisruptionTarget"}, {"status", "True"}}});
  EXPECT_TRUE(broken({{"phase", "Failed"}, {"reason", "Evicted"}}));
  EXPECT_TRUE(broken({{"phase", "Failed"}, {"reason", "NodeShutdown"}}));
  EXPECT_TRUE(broken({{"phase", "Failed"}, {"conditions", disrupted}}));
  EXPECT_FALSE(broken({{"phase", "Failed"}, {"reason", "DeadlineExceeded"}}));
  EXPECT_TRUE(broken({{"phase", "Failed"}}));
  EXPECT_TRUE(broken({{"phase", "Succeeded"}}));
  EXPECT_FALSE(broken(ended_status("Succeeded", 0, R"({"ended_by":"lease","why":"over"})")));
  kube::Object leaving = running_pod();
  leaving.json["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  EXPECT_TRUE(describe_pod(leaving).was_broken);
  const PodRecord record = some_record();
  const Sandbox lost = describe(record, config_map_of(record, std::chrono::hours{1}), nullptr, wall_now());
  EXPECT_TRUE(lost.was_broken);
  EXPECT_EQ(lost.expires_at, record.expires_at) << "until then it is kept";
}

TEST(PodRecord, APodWhoseNodeIsSilentSaysSo) {
  kube::Object pod = running_pod();
  pod.json["status"]["conditions"] = json::array(
      {json{{"type", "Ready"}, {"status", "False"}}, json{{"type", "ContainersReady"}, {"status", "True"}}});
  EXPECT_EQ(describe_pod(pod).state, SandboxState::running);
  EXPECT_EQ(describe_pod(pod).reason, "its node node0 does not answer");
  pod.json["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  EXPECT_EQ(describe_pod(pod).reason, "its pod is being deleted");
  kube::Object drained = running_pod();
  drained.json["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  drained.json["status"]["conditions"].push_back(
      {{"type", "DisruptionTarget"}, {"status", "True"}, {"reason", "EvictionByEvictionAPI"}});
  EXPECT_EQ(describe_pod(drained).reason, "its pod is being deleted: it was evicted, as a drain of its node does");
  pod.json["status"]["conditions"].push_back(
      {{"type", "DisruptionTarget"}, {"status", "True"}, {"reason", "DeletionByTaintManager"}});
  EXPECT_EQ(describe_pod(pod).state, SandboxState::failed);
  EXPECT_EQ(describe_pod(pod).reason,
            "its pod is being deleted, but its node node0 does not answer: `skiff rm --force` does not wait for it");
}

TEST(PodRecord, APodThatCanNotBeLookedAtIsNotGone) {
  PodRecord record = some_record();
  record.was_up = true;
  const kube::Object old = config_map_of(record, std::chrono::hours{1});
  const Sandbox unseen = describe_unseen(record, old, Error{Errc::permission_denied, "pods is forbidden"});
  EXPECT_EQ(unseen.state, SandboxState::running);
  EXPECT_TRUE(unseen.reason.contains("pods is forbidden"));
  record.stopped = true;
  EXPECT_EQ(describe_unseen(record, old, Error{}).state, SandboxState::stopped);
}

TEST(PodRecord, APodOfOneRunTellsAllItself) {
  kube::Object pod = running_pod();
  labels::put_common(pod, "sandbox", "run-1", "ann@host");
  labels::put(pod, labels::kSandbox, "s9");
  const Sandbox sandbox = describe_pod(pod);
  EXPECT_EQ(sandbox.name, "run-1");
  EXPECT_EQ(sandbox.id, "s9");
  EXPECT_EQ(sandbox.owner, "ann@host");
  EXPECT_EQ(sandbox.image, "busybox");
  EXPECT_EQ(sandbox.state, SandboxState::running);
  EXPECT_EQ(sandbox.address, "http://10.0.0.7:7070");
}

// --- what is sealed -------------------------------------------------------------------------------------------------

TEST(SealedRecord, TellsAllThatLeadsToTheAgent) {
  PodRecord record{.id = "s1", .namespace_name = "ns", .pod = "skiff-pool-p-7", .pod_uid = "u-pod"};
  record.spec.name = "box";
  record.spec.owner = "ann";
  record.spec.pod.agent_port = 7071;
  kube::Object config_map;
  config_map.json["metadata"]["uid"] = "u-record";
  const std::string text = text_to_seal(record, config_map);
  EXPECT_TRUE(text.starts_with('[')) << "it is no token";
  const std::vector<std::function<void(PodRecord&)>> attacks{
      [](PodRecord& one) { one.namespace_name = "another"; }, [](PodRecord& one) { one.pod = "skiff-pool-p-8"; },
      [](PodRecord& one) { one.pod_uid = "u-another"; }, [](PodRecord& one) { one.id = "s2"; },
      [](PodRecord& one) { one.spec.name = "other"; }, [](PodRecord& one) { one.spec.owner = "eve"; },
      [](PodRecord& one) { one.spec.pod.agent_port = 8080; },
      // A text that would be the same if its parts were only joined.
      [](PodRecord& one) {
        one.id = "s1box";
        one.spec.name.clear();
      }};
  for (std::size_t i = 0; i < attacks.size(); ++i) {
    PodRecord forged = record;
    attacks[i](forged);
    EXPECT_NE(text_to_seal(forged, config_map), text) << i;
  }
  config_map.json["metadata"]["uid"] = "u-copy";
  EXPECT_NE(text_to_seal(record, config_map), text);
  const kube::Object pod = recorded_pod(record, "PEM");
  EXPECT_EQ(pod.namespace_name(), "ns");
  EXPECT_EQ(pod.name(), "skiff-pool-p-7");
  EXPECT_EQ(pod.uid(), "u-pod");
  EXPECT_EQ(labels::get(pod, labels::kSandbox), "s1");
  EXPECT_EQ(labels::get(pod, labels::kName), "box");
  EXPECT_EQ(labels::get(pod, labels::kOwner), "ann");
  EXPECT_EQ(agent_port_of(pod), 7071);
  EXPECT_EQ(configured_key(pod), "PEM");
}

}  // namespace
}  // namespace skiff::container
