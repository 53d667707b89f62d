#include "container/drivers/claims/objects.hpp"

#include <gtest/gtest.h>

#include "container/cluster/labels.hpp"
#include "container/cluster/pod/creation_mark.hpp"
#include "tests/container/cluster/manifest_context.hpp"

namespace skiff::container {
namespace {

using kube::Object;
using nlohmann::json;
using test::manifest_context;
using namespace std::chrono_literals;

constexpr WallTime kUntil{1'800'000'000s};
constexpr std::string_view kUntilText = "2027-01-15T08:00:00Z";

SandboxSpec spec() {
  SandboxSpec spec{.name = "box", .image = "python:3.12-slim", .owner = "ann"};
  spec.env = {{"GREETING", "hello"}};
  spec.labels = {{"team", "blue"}};
  spec.lease.ttl = 1h;
  spec.pod.agent_image = "skiff:1";
  return spec;
}

const json& container_of(const Object& object) {
  return object.json.at("spec").at("podTemplate").at("spec").at("containers").at(0);
}

json variable_of_container(const json& container, std::string_view name) {
  for (const json& one : container.at("env")) {
    if (one.at("name") == name) return one;
  }
  return {};
}

Object with_ready(Object object, std::string_view status, std::string_view reason, std::string_view message = "") {
  object.json["status"]["conditions"] =
      json::array({{{"type", "Ready"}, {"status", status}, {"reason", reason}, {"message", message}}});
  return object;
}

Object bare() {
  return create_sandbox(spec(), manifest_context(), SandboxApi::v1beta1, std::nullopt).value();
}

TEST(ClaimObjects, ABareSandboxHasThePodThatThePodDriverMakes) {
  const Object sandbox = create_sandbox(spec(), manifest_context(), SandboxApi::v1beta1, kUntil).value();
  EXPECT_EQ(sandbox.text({"apiVersion"}), "agents.x-k8s.io/v1beta1");
  EXPECT_EQ(sandbox.name(), "skiff-box");
  EXPECT_EQ(sandbox.label(labels::kSandbox), "s-1");
  EXPECT_TRUE(is_marked(sandbox, "s-1")) << "who made it can take it back";
  EXPECT_EQ(sandbox.label(labels::kComponent), "sandbox");
  EXPECT_TRUE(sandbox.is_true({"spec", "service"}));
  EXPECT_EQ(sandbox.text({"spec", "shutdownTime"}), kUntilText);
  EXPECT_EQ(sandbox.text({"spec", "shutdownPolicy"}), "Retain") << "it can be started again";
  EXPECT_NE(sandbox.json["spec"]["podTemplate"]["metadata"]["labels"][labels::kComponent], "sandbox")
      << "the pod driver must not take its Pod for a sandbox";
  EXPECT_EQ(variable_of_container(container_of(sandbox), "SKIFF_SANDBOX_ID").at("value"), "s-1");
  EXPECT_EQ(variable_of_container(container_of(sandbox), "GREETING").at("value"), "hello");
  EXPECT_EQ(variable_of_container(container_of(sandbox), "SKIFF_TTL").at("value"), "3600000");

  SandboxSpec once = spec();
  once.is_one_shot = true;
  once.pod.service = ServiceKind::none;
  once.pod.volumes = {"1Gi:/data"};
  const Object other = create_sandbox(once, manifest_context(), SandboxApi::v1beta1, kUntil).value();
  EXPECT_EQ(other.text({"spec", "shutdownPolicy"}), "Delete");
  EXPECT_FALSE(other.is_true({"spec", "service"}));
  const json& volume = other.json.at("spec").at("volumeClaimTemplates").at(0);
  EXPECT_EQ(volume.at("metadata").at("name"), "volume-0") << "as the Pod's volume, which the controller replaces";
}

TEST(ClaimObjects, AClaimNamesItsPoolOrInTheOlderVersionItsTemplate) {
  const Object claim = create_claim(spec(), manifest_context(), SandboxApi::v1beta1, {.pool = "python"}, kUntil);
  EXPECT_EQ(claim.text({"apiVersion"}), "extensions.agents.x-k8s.io/v1beta1");
  EXPECT_EQ(claim.text({"spec", "warmPoolRef", "name"}), "python");
  EXPECT_EQ(claim.text({"spec", "lifecycle", "shutdownTime"}), kUntilText);
  EXPECT_EQ(claim.text({"spec", "lifecycle", "shutdownPolicy"}), "Delete");
  EXPECT_EQ(claim.find({"spec", "env"}), nullptr) << "it would force a cold start: the agent is told";
  const Object older = create_claim(spec(), manifest_context(), SandboxApi::v1alpha1,
                                    {.pool = "warm", .template_name = "t"}, std::nullopt);
  EXPECT_EQ(older.text({"apiVersion"}), "extensions.agents.x-k8s.io/v1alpha1");
  EXPECT_EQ(older.text({"spec", "sandboxTemplateRef", "name"}), "t");
  EXPECT_EQ(older.text({"spec", "warmpool"}), "warm");
  EXPECT_EQ(older.find({"spec", "lifecycle"}), nullptr);
}

TEST(ClaimObjects, ATemplatesPodsTakeTheirOwnUidsForTheirIds) {
  PoolSpec pool{.name = "python", .size = 3, .sandbox = spec()};
  const Object made = create_template(pool, manifest_context(), SandboxApi::v1beta1).value();
  EXPECT_EQ(made.name(), "python");
  const json id = variable_of_container(container_of(made), "SKIFF_SANDBOX_ID");
  EXPECT_FALSE(id.contains("value"));
  EXPECT_EQ(id.at("valueFrom").at("fieldRef").at("fieldPath"), "metadata.uid");
  EXPECT_EQ(variable_of_container(container_of(made), "SKIFF_PUBLIC_KEY").at("value"), "PEM");
  EXPECT_TRUE(variable_of_container(container_of(made), "SKIFF_TTL").is_null())
      << "a lease begins when a sandbox is taken";
  EXPECT_EQ(made.text({"spec", "networkPolicyManagement"}), "Unmanaged")
      << "the controller's own policy lets in nobody but its router";
  pool.sandbox.pod.network = "deny";
  const Object closed = create_template(pool, manifest_context(), SandboxApi::v1beta1).value();
  EXPECT_EQ(closed.text({"spec", "networkPolicyManagement"}), "Managed");
  EXPECT_EQ(closed.json.at("spec").at("networkPolicy").at("ingress"), json::array())
      << "kube-router takes ways in for ways out between the Pods of a policy";
  EXPECT_EQ(closed.json.at("spec").at("networkPolicy").at("egress"), json::array());
  const Object entrance = create_entrance(pool, manifest_context(), "-c1").value().value();
  EXPECT_EQ(entrance.name(), "python-agent-c1");
  EXPECT_EQ(entrance.json.at("spec").at("ingress").at(0).at("ports").at(0).at("port"), kAgentPort);
  EXPECT_EQ(entrance.json.at("spec").at("policyTypes"), json::array({"Ingress"}));
  EXPECT_EQ(entrance.json.at("spec").at("podSelector").at("matchLabels"),
            closed.json.at("spec").at("podTemplate").at("metadata").at("labels"));
  pool.sandbox.pod.network = "open";
  EXPECT_FALSE(create_entrance(pool, manifest_context(), {}).value());
  const Object warm = create_warm_pool(pool, manifest_context(), SandboxApi::v1beta1, "python");
  EXPECT_EQ(warm.integer({"spec", "replicas"}), 3);
  EXPECT_EQ(warm.text({"spec", "sandboxTemplateRef", "name"}), "python");
}

TEST(ClaimObjects, StopAndStartAreTheModeOrTheReplicas) {
  EXPECT_EQ(mode_patch(SandboxApi::v1beta1, false), json({{"spec", {{"operatingMode", "Suspended"}}}}));
  EXPECT_EQ(mode_patch(SandboxApi::v1beta1, true), json({{"spec", {{"operatingMode", "Running"}}}}));
  EXPECT_EQ(mode_patch(SandboxApi::v1alpha1, false), json({{"spec", {{"replicas", 0}}}}));
  EXPECT_EQ(mode_patch(SandboxApi::v1alpha1, true), json({{"spec", {{"replicas", 1}}}}));
  EXPECT_TRUE(lifetime_patch(false, std::nullopt).at("spec").at("shutdownTime").is_null());
  EXPECT_EQ(lifetime_patch(true, kUntil).at("spec").at("lifecycle").at("shutdownTime"), kUntilText);
}

TEST(ClaimObjects, TheSpecIsReadAsItWasWritten) {
  const SandboxSpec read = spec_of(bare());
  EXPECT_EQ(read.name, "box");
  EXPECT_EQ(read.owner, "ann");
  EXPECT_EQ(read.env, spec().env);
  EXPECT_EQ(read.lease.ttl, spec().lease.ttl);
  Object foreign = bare();
  foreign.json["metadata"]["annotations"].clear();
  EXPECT_EQ(spec_of(foreign).name, "box") << "as much as the labels tell";
  SandboxSpec longer = spec();
  longer.lease.ttl = 2h;
  Object changed = bare();
  changed.json.merge_patch(spec_patch(longer));
  EXPECT_EQ(spec_of(changed).lease.ttl, 2h);
}

TEST(ClaimObjects, AClaimsSandboxIsFoundInEitherSpelling) {
  Object claim;
  EXPECT_EQ(sandbox_name(claim), "");
  claim.json["status"]["sandbox"]["Name"] = "old";
  EXPECT_EQ(sandbox_name(claim), "old");
  claim.json["status"]["sandbox"]["name"] = "new";
  EXPECT_EQ(sandbox_name(claim), "new");
}

TEST(ClaimObjects, APodOfASandboxMayHaveAnotherNameThanIt) {
  Object sandbox = bare();
  EXPECT_EQ(pod_name(sandbox), "skiff-box");
  sandbox.json["metadata"]["annotations"]["agents.x-k8s.io/pod-name"] = "warm-x";
  EXPECT_EQ(pod_name(sandbox), "warm-x");
}

Object pod_with_id(const json& entry) {
  Object pod;
  pod.json = {{"metadata", {{"name", "warm-x"}, {"uid", "u-1"}}}};
  json container{{"name", "a"}, {"ports", json::array({{{"containerPort", kAgentPort}}})}};
  if (!entry.is_null()) container["env"] = json::array({entry});
  pod.json["spec"]["containers"] = json::array({{{"name", "sidecar"}}, container});
  return pod;
}

TEST(ClaimObjects, AnAgentsIdIsWhatItsPodTellsItOrItsHostName) {
  EXPECT_EQ(agent_id(pod_with_id(nullptr)), "warm-x");
  EXPECT_EQ(agent_id(pod_with_id({{"name", "SKIFF_SANDBOX_ID"}, {"value", "s-7"}})), "s-7");
  const json from_uid{{"name", "SKIFF_SANDBOX_ID"}, {"valueFrom", {{"fieldRef", {{"fieldPath", "metadata.uid"}}}}}};
  EXPECT_EQ(agent_id(pod_with_id(from_uid)), "u-1");
  Object named = pod_with_id(nullptr);
  named.json["metadata"]["name"] = std::string(62, 'a') + "-bcd";
  EXPECT_EQ(agent_id(named), std::string(62, 'a')) << "as the kubelet cuts a host name";
}

TEST(ClaimObjects, APodThatDoesNotRunOurAgentIsSeen) {
  EXPECT_TRUE(runs_agent(pod_with_id(nullptr)));
  Object other;
  other.json = {{"spec", {{"containers", json::array({{{"ports", json::array({{{"containerPort", 8888}}})}}})}}}};
  EXPECT_FALSE(runs_agent(other));
  EXPECT_FALSE(runs_agent(Object{}));
}

TEST(ClaimVerdict, FollowsTheConditionReady) {
  EXPECT_EQ(judge_claim(bare()).state, SandboxState::creating);
  const auto state = [](std::string_view status, std::string_view reason) {
    return judge_claim(with_ready(bare(), status, reason)).state;
  };
  EXPECT_EQ(state("True", "DependenciesReady"), SandboxState::running);
  EXPECT_EQ(state("False", "DependenciesNotReady"), SandboxState::creating);
  EXPECT_EQ(state("False", "SandboxSuspended"), SandboxState::stopped);
  // As v0.2.1 has it of a Sandbox without replicas, and of its claim.
  EXPECT_EQ(judge_claim(with_ready(bare(), "True", "DependenciesReady", "Pod does not exist, replicas is 0")).state,
            SandboxState::stopped);
  EXPECT_EQ(state("False", "SandboxExpired"), SandboxState::ended);
  EXPECT_EQ(state("False", "ClaimExpired"), SandboxState::ended);
  // How it ended its Pod says, and the claim does not.
  EXPECT_EQ(state("False", "PodSucceeded"), SandboxState::failed);
  EXPECT_TRUE(judge_claim(with_ready(bare(), "False", "PodSucceeded")).lost_pod);
  EXPECT_TRUE(judge_claim(with_ready(bare(), "False", "PodFailed")).lost_pod);
  EXPECT_EQ(state("False", "PodFailed"), SandboxState::failed);
}

TEST(ClaimVerdict, OfAPodThatHasEndedIsWhatThatSays) {
  Sandbox sandbox = describe_claim(with_ready(bare(), "False", "PodSucceeded"));
  EXPECT_TRUE(sandbox.was_broken) << "nobody has said yet that its time was over";
  Object pod;
  pod.json["status"] = {{"phase", "Failed"}, {"reason", "Evicted"}, {"message", "disk"}};
  describe_end(sandbox, pod);
  EXPECT_EQ(sandbox.state, SandboxState::failed);
  EXPECT_TRUE(sandbox.was_broken);
  EXPECT_EQ(sandbox.reason, "it was evicted by its node (Evicted): disk");
  EXPECT_EQ(sandbox.details["ended_by"], "eviction");
  const json word{{"ended_by", "lease"}, {"why", "the lease is over"}};
  const json over{{"exitCode", 0}, {"message", word.dump()}, {"finishedAt", "2026-01-01T09:00:00Z"}};
  pod.json["status"] = {{"phase", "Succeeded"},
                        {"containerStatuses", json::array({{{"name", "sandbox"}, {"state", {{"terminated", over}}}}})}};
  describe_end(sandbox, pod);
  EXPECT_EQ(sandbox.state, SandboxState::ended);
  EXPECT_FALSE(sandbox.was_broken);
  EXPECT_EQ(sandbox.reason, "the lease is over");
}

TEST(ClaimVerdict, KnowsWhatNoWaitingMends) {
  for (const char* reason : {"WarmPoolNotFound", "TemplateNotFound", "InvalidMetadata", "EnvVarsInjectionRejected",
                             "VolumeClaimTemplatesError"}) {
    const ClaimVerdict verdict = judge_claim(with_ready(bare(), "False", reason, "why"));
    EXPECT_TRUE(verdict.rejected) << reason;
    EXPECT_EQ(verdict.state, SandboxState::failed) << reason;
    EXPECT_EQ(verdict.reason, std::string{reason} + ": why");
  }
  EXPECT_TRUE(judge_claim(with_ready(bare(), "False", "ReconcilerError",
                                     "Error seen: pods \"a\" is forbidden: exceeded quota: small"))
                  .rejected);
  for (const char* reason : {"AdoptionConflict", "SandboxCreatePending", "ReconcilerError", "SandboxMissing"}) {
    EXPECT_FALSE(judge_claim(with_ready(bare(), "False", reason)).rejected) << reason;
  }
}

TEST(ClaimVerdict, TrustsTheSpecMoreThanAConditionThatIsOlder) {
  Object suspended = with_ready(bare(), "True", "DependenciesReady");
  suspended.json["spec"]["operatingMode"] = "Suspended";
  EXPECT_EQ(judge_claim(suspended).state, SandboxState::stopped);
  Object scaled = with_ready(bare(), "True", "DependenciesReady");
  scaled.json["spec"]["replicas"] = 0;
  EXPECT_EQ(judge_claim(scaled).state, SandboxState::stopped);
}

TEST(ClaimObjects, AreDescribedForPeople) {
  Object claim = create_claim(spec(), manifest_context(), SandboxApi::v1beta1, {.pool = "python"}, kUntil);
  claim = with_ready(std::move(claim), "True", "DependenciesReady");
  claim.json["status"]["sandbox"] = {{"name", "python-x"}, {"podIPs", json::array({"10.1.2.3"})}};
  const Sandbox sandbox = describe_claim(claim);
  EXPECT_EQ(sandbox.name, "box");
  EXPECT_EQ(sandbox.driver, "claim");
  EXPECT_EQ(sandbox.state, SandboxState::running);
  EXPECT_EQ(sandbox.owner, "ann");
  EXPECT_EQ(sandbox.labels, (std::map<std::string, std::string>{{"team", "blue"}}));
  EXPECT_EQ(sandbox.expires_at, kUntilText);
  EXPECT_EQ(sandbox.address, "http://10.1.2.3:7070");
  EXPECT_EQ(sandbox.details.at("sandbox"), "python-x");
}

}  // namespace
}  // namespace skiff::container
