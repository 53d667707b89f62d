#include "container/drivers/claims/noted_pod.hpp"

#include <gtest/gtest.h>

#include "container/cluster/labels.hpp"
#include "container/drivers/claims/objects.hpp"
#include "tests/container/cluster/manifest_context.hpp"

namespace skiff::container {
namespace {

using kube::Object;
using nlohmann::json;

Object claim_of(SandboxSpec spec = {.name = "box"}) {
  return create_claim(spec, test::manifest_context(), SandboxApi::v1beta1, {.pool = "warm"}, std::nullopt);
}

Object with_patch(Object object, const json& patch) {
  object.json.merge_patch(patch);
  return object;
}

Object pod_on_node() {
  Object pod = Object::make(kube::kPods, "default", "skiff-box");
  pod.json["metadata"]["uid"] = "u-1";
  pod.json["spec"]["nodeName"] = "node0";
  pod.json["status"]["startTime"] = "2026-11-27T01:00:00Z";
  return pod;
}

TEST(NotedPod, TellsThePodInWhichTheSandboxWasUp) {
  EXPECT_FALSE(noted_pod(claim_of()));
  EXPECT_TRUE(lacks_note(claim_of()));
  const Object noted = with_patch(claim_of(), up_note(pod_on_node(), ""));
  const auto pod = noted_pod(noted);
  ASSERT_TRUE(pod);
  EXPECT_EQ(pod->uid, "u-1");
  EXPECT_EQ(pod->node, "node0");
  EXPECT_EQ(pod->started_at, "2026-11-27T01:00:00Z");
  EXPECT_EQ(pod->lost_with, "");
  EXPECT_FALSE(lacks_note(noted));
}

TEST(NotedPod, RemembersThatAStoppedSandboxWasUp) {
  const Object stopped = with_patch(with_patch(claim_of(), up_note(pod_on_node(), "evicted")), down_note(""));
  ASSERT_TRUE(noted_pod(stopped));
  EXPECT_EQ(noted_pod(stopped)->uid, "");
  EXPECT_EQ(noted_pod(stopped)->lost_with, "");
  EXPECT_TRUE(lacks_note(stopped));
}

TEST(NotedPod, KeepsOnlyTheSpecOfASandboxWhoseNoteIsDamaged) {
  Object damaged = claim_of();
  damaged.json["metadata"]["annotations"]["skiff.dev/pod"] = "{";
  ASSERT_TRUE(noted_pod(damaged));
  EXPECT_TRUE(lacks_note(damaged));
}

TEST(NotedPod, ReadsNoNoteOfAnObjectThatOthersCreated) {
  Object foreign = with_patch(claim_of(), up_note(pod_on_node(), ""));
  foreign.json["metadata"]["labels"][labels::kManagedBy] = "helm";
  EXPECT_FALSE(noted_pod(foreign));
  EXPECT_FALSE(lacks_note(foreign));
}

TEST(NotedPod, DescribesALossWithItsCause) {
  Sandbox sandbox;
  sandbox.state = SandboxState::running;
  sandbox.address = "http://10.0.0.1:7070";
  describe_loss(sandbox, std::nullopt);
  EXPECT_EQ(sandbox.state, SandboxState::failed);
  EXPECT_TRUE(sandbox.was_broken);
  EXPECT_EQ(sandbox.address, "");
  EXPECT_EQ(sandbox.reason, "its Pod was deleted, by a drain of its node or by somebody, and a new one took its place");
  describe_loss(sandbox, PodEnd{EndedBy::node_lost, "its node node0 is gone"});
  EXPECT_EQ(sandbox.reason, "its Pod is gone, and a new one took its place: its node node0 is gone");
  EXPECT_EQ(sandbox.details.at("ended_by"), "node_lost");
}

TEST(NotedPod, TellsALossOfFilesUntilTheSandboxIsStopped) {
  Sandbox broken;
  broken.was_broken = true;
  broken.reason = "it was evicted";
  EXPECT_EQ(loss_before_start(claim_of(), broken), "it was evicted");
  SandboxSpec spec{.name = "box"};
  spec.pod.volumes = {"1Gi:/data"};
  EXPECT_EQ(loss_before_start(claim_of(spec), broken), "") << "a volume keeps the files";
  const Sandbox stopped;
  EXPECT_EQ(loss_before_start(with_patch(claim_of(), down_note("it was evicted")), stopped), "it was evicted")
      << "an interrupted start has stopped it again";
  EXPECT_EQ(loss_before_start(with_patch(claim_of(), down_note("")), stopped), "");
}

TEST(NotedPod, IsPartOfTheReasonOfARunningSandbox) {
  Object claim = with_patch(claim_of(), up_note(pod_on_node(), "it was evicted"));
  EXPECT_EQ(describe_claim(claim).reason, "");
  claim.json["status"]["conditions"] = json::array({{{"type", "Ready"}, {"status", "True"}, {"reason", "Ready"}}});
  EXPECT_EQ(describe_claim(claim).reason, "it began anew, without the files that no volume keeps: it was evicted");
}

}  // namespace
}  // namespace skiff::container
