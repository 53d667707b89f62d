#include "container/cluster/pod/pod_end.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "container/kube/objects/resource.hpp"

namespace skiff::container {
namespace {

using nlohmann::json;

constexpr const char* kAtNine = "2026-01-01T09:00:00Z";

json ended(std::int64_t status, std::string_view reason = "Completed", std::string_view message = "") {
  return {
      {"name", "sandbox"},
      {"state",
       {{"terminated", {{"exitCode", status}, {"reason", reason}, {"message", message}, {"finishedAt", kAtNine}}}}}};
}

std::string word(std::string_view by, std::string_view why) {
  return json{{"ended_by", by}, {"why", why}}.dump() + "\n";
}

kube::Object pod_in(std::string_view phase, json containers, json more = json::object()) {
  kube::Object pod = kube::Object::make(kube::kPods, "ns", "skiff-box");
  pod.json["status"] = {{"phase", phase}, {"containerStatuses", std::move(containers)}};
  pod.json["status"].update(more);
  return pod;
}

PodEnd end_in(std::string_view phase, json container, json more = json::object()) {
  return end_of(pod_in(phase, json::array({std::move(container)}), std::move(more)));
}

json disrupted(std::string_view reason, std::string_view message = "") {
  return {
      {"conditions",
       json::array({{{"type", "DisruptionTarget"}, {"status", "True"}, {"reason", reason}, {"message", message}}})}};
}

TEST(PodEnd, OfALeaseIsWhatItsAgentHasWrittenDown) {
  const PodEnd lease = end_in("Succeeded", ended(0, "Completed", word("lease", "the lease is over")));
  EXPECT_EQ(lease.by, EndedBy::lease);
  EXPECT_EQ(lease.why, "the lease is over");
  EXPECT_EQ(lease.ended_at, kAtNine);
  EXPECT_TRUE(is_own_end(lease.by));
  EXPECT_TRUE(is_own_end(end_in("Succeeded", ended(0, "Completed", word("workload", "it has ended"))).by));
  // Just when its node is emptied.
  EXPECT_EQ(end_in("Succeeded", ended(0, "Completed", word("lease", "over")), disrupted("EvictionByEvictionAPI")).by,
            EndedBy::lease);
}

TEST(PodEnd, IsNeverGuessedFromASuccess) {
  for (const std::string message : {"", "bye", "{", "[]", "{\"ended_by\":7,\"why\":\"x\"}", "{\"ended_by\":\"lease\"}",
                                    "{\"ended_by\":\"of_the_future\",\"why\":\"x\"}"}) {
    const PodEnd end = end_in("Succeeded", ended(0, "Completed", message));
    EXPECT_EQ(end.by, EndedBy::unsaid) << message;
    EXPECT_FALSE(is_own_end(end.by));
  }
  EXPECT_EQ(end_of(pod_in("Succeeded", json::array())).by, EndedBy::unsaid);
  // A program beside the agent that ends well when it is told to.
  const PodEnd told = end_in("Succeeded", ended(0, "Completed", word("signal", "SIGTERM")));
  EXPECT_EQ(told.by, EndedBy::signal);
  EXPECT_EQ(told.why, "it was ended from outside by SIGTERM");
}

TEST(PodEnd, OfAnAgentThatWasKilledIsNotWhatACommandWroteThere) {
  for (const std::int64_t status : {137, 143, 1, 139}) {
    EXPECT_FALSE(is_own_end(end_in("Failed", ended(status, "Error", word("lease", "forged"))).by)) << status;
  }
  EXPECT_EQ(end_in("Failed", ended(137, "OOMKilled", word("lease", "forged"))).by, EndedBy::out_of_memory);
}

TEST(PodEnd, ByTheClusterHasItsName) {
  const json killed = ended(143, "Error", word("signal", "SIGTERM"));
  const PodEnd evicted =
      end_in("Failed", killed, {{"reason", "Evicted"}, {"message", "Pod ephemeral local storage usage exceeds"}});
  EXPECT_EQ(evicted.by, EndedBy::eviction);
  EXPECT_EQ(evicted.why, "it was evicted by its node (Evicted): Pod ephemeral local storage usage exceeds");
  EXPECT_EQ(evicted.ended_at, kAtNine);
  EXPECT_EQ(end_in("Failed", killed, {{"reason", "Terminated"}}).by, EndedBy::node_shutdown);
  EXPECT_EQ(end_in("Failed", killed, {{"reason", "NodeLost"}}).by, EndedBy::node_lost);
  EXPECT_EQ(end_in("Failed", killed, {{"reason", "DeadlineExceeded"}}).by, EndedBy::deadline);
  EXPECT_EQ(end_in("Failed", killed, {{"reason", "OutOfFuture"}}).by, EndedBy::failure);
  EXPECT_EQ(end_in("Failed", killed, disrupted("EvictionByEvictionAPI")).by, EndedBy::drain);
  EXPECT_EQ(end_in("Failed", killed, disrupted("PreemptionByScheduler")).by, EndedBy::preemption);
  EXPECT_EQ(end_in("Failed", killed, disrupted("DeletionByTaintManager")).by, EndedBy::node_lost);
  EXPECT_EQ(end_in("Failed", killed, disrupted("DeletionByPodGC")).by, EndedBy::node_lost);
  EXPECT_EQ(end_in("Failed", killed, disrupted("TerminationByKubelet", "low on resource: memory")).why,
            "its node ended it: low on resource: memory");
  EXPECT_EQ(end_in("Failed", killed, disrupted("OfTheFuture")).by, EndedBy::eviction);
  // An older agent, which ends well whatever ends it.
  EXPECT_EQ(end_in("Succeeded", ended(0), disrupted("EvictionByEvictionAPI")).by, EndedBy::drain);
}

TEST(PodEnd, OfItsContainersHasItsName) {
  const auto by = [](std::int64_t status, std::string_view reason) {
    return end_in("Failed", ended(status, reason)).by;
  };
  EXPECT_EQ(by(137, "OOMKilled"), EndedBy::out_of_memory);
  EXPECT_EQ(by(137, "Error"), EndedBy::signal);
  EXPECT_EQ(by(143, "Error"), EndedBy::signal);
  EXPECT_EQ(by(137, "ContainerStatusUnknown"), EndedBy::node_lost);
  EXPECT_EQ(by(3, "Error"), EndedBy::failure);
  EXPECT_EQ(end_in("Failed", ended(3, "Error")).why, "its main process ended with status 3");
  EXPECT_EQ(end_in("Failed", ended(4, "Error", word("workload", "the workload has ended"))).why,
            "its main process ended with status 4: the workload has ended");
}

TEST(PodEnd, IsThatOfTheContainerThatHasAWord) {
  json beside = ended(0);
  beside["name"] = "beside";
  const json agent = ended(0, "Completed", word("lease", "the lease is over"));
  EXPECT_EQ(end_of(pod_in("Succeeded", json::array({beside, agent}))).by, EndedBy::lease);
  EXPECT_EQ(end_of(pod_in("Failed", json::array({beside, ended(137, "OOMKilled")}))).by, EndedBy::out_of_memory);
}

TEST(PodEnd, OfAnOldAgentIsTheLeasesWhereTheRecordSaysSo) {
  EXPECT_TRUE(was_lease_over(kAtNine, "2026-01-01T08:59:59.500Z"));
  EXPECT_FALSE(was_lease_over(kAtNine, "2026-01-01T09:00:01Z"));
  EXPECT_FALSE(was_lease_over(kAtNine, std::nullopt));
  EXPECT_FALSE(was_lease_over("", "2026-01-01T09:00:01Z"));
}

TEST(PodEnd, IsToldByEventsThatOutliveIt) {
  EXPECT_EQ(end_in_event("Preempted", "by a Pod")->by, EndedBy::preemption);
  EXPECT_EQ(end_in_event("TaintManagerEviction", "")->by, EndedBy::node_lost);
  EXPECT_FALSE(end_in_event("Killing", "Stopping container sandbox"));
}

TEST(PodEnd, HasAWordForEachCause) {
  EXPECT_EQ(word_of(EndedBy::lease), "lease");
  EXPECT_EQ(word_of(EndedBy::out_of_memory), "out_of_memory");
  EXPECT_EQ(word_of(EndedBy::unsaid), "unsaid");
}

}  // namespace
}  // namespace skiff::container
