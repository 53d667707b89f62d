#include "container/drivers/claims/objects.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <nlohmann/json.hpp>

#include "container/cluster/labels.hpp"
#include "container/cluster/pod/creation_mark.hpp"
#include "container/cluster/pod/network_policies.hpp"
#include "container/cluster/pod/pod_end.hpp"
#include "container/drivers/claims/noted_pod.hpp"
#include "container/kube/objects/pod.hpp"
#include "container/net/time.hpp"

namespace skiff::container {
namespace {

using kube::Object;
using nlohmann::json;

constexpr std::string_view kSpec = "skiff.dev/spec";
constexpr std::string_view kForeign = "claim/";
constexpr std::string_view kPodName = "agents.x-k8s.io/pod-name";
/// Longest host name. The agent's id is the host name unless it gets another one.
constexpr std::size_t kLongestHostName = 63;

/// Reasons of the condition Ready that do not pass by themselves.
constexpr std::array<std::string_view, 5> kRejections{
    "InvalidMetadata", "EnvVarsInjectionRejected", "VolumeClaimTemplatesError", "TemplateNotFound", "WarmPoolNotFound"};

Object create_of(const kube::Resource& resource, const SandboxSpec& spec, const ManifestContext& context) {
  Object object = Object::make(resource, context.namespace_name, context.prefix + spec.name);
  labels::put_common(object, "sandbox", spec.name, spec.owner);
  labels::put_user_labels(object, spec.labels);
  if (!spec.pod.username.empty()) labels::put(object, labels::kUsername, spec.pod.username);
  object.json["metadata"]["annotations"][kSpec] = protocol::to_json(spec);
  mark_creation(object, context.sandbox_id);
  return object;
}

/// The controller owns the Pod: a list of skiff's own Pods must not contain it.
json template_of(Object pod) {
  labels::put(pod, labels::kComponent, "sandbox-pod");
  json made{{"spec", pod.json.at("spec")}, {"metadata", {{"labels", pod.json.at("metadata").at("labels")}}}};
  if (const json* annotations = pod.find({"metadata", "annotations"})) made["metadata"]["annotations"] = *annotations;
  return made;
}

const json* variable(const json& container, std::string_view name) {
  const auto env = container.find("env");
  if (env == container.end() || !env->is_array()) return nullptr;
  const auto found = std::ranges::find_if(*env, [&](const json& one) { return one.value("name", "") == name; });
  return found == env->end() ? nullptr : &*found;
}

/// The container with our agent: one with the default port, or with a setting for another one.
const json* agent_container(const Object& pod) {
  const json* containers = pod.find({"spec", "containers"});
  if (containers == nullptr || !containers->is_array()) return nullptr;
  for (const json& container : *containers) {
    for (const json& port : container.value("ports", json::array())) {
      if (port.value("containerPort", 0) == kAgentPort) return &container;
    }
    if (variable(container, "SKIFF_LISTEN") != nullptr) return &container;
  }
  return nullptr;
}

/// The Pods of a template share one text: the kubelet fills in the differences.
void take_id_from_pod(json& pod_spec) {
  for (json& container : pod_spec.at("containers")) {
    if (!container.contains("env")) continue;
    for (json& one : container["env"]) {
      const std::string name = one.value("name", "");
      if (name != "SKIFF_SANDBOX_ID" && name != "SANDBOX_ID") continue;
      one.erase("value");
      one["valueFrom"] = {{"fieldRef", {{"fieldPath", "metadata.uid"}}}};
    }
  }
}

/// The template's own policy, with the ways out alone (`create_entrance`); none for open networks, because the
/// controller's default admits only its router.
Result<> put_network(json& body, const SandboxSpec& spec) {
  if (network_label(spec.pod).empty()) {
    body["networkPolicyManagement"] = "Unmanaged";
    return {};
  }
  SKIFF_TRY(auto rules, network_rules(spec.pod));
  body["networkPolicyManagement"] = "Managed";
  body["networkPolicy"] = {{"ingress", json::array()}, {"egress", std::move(rules.egress)}};
  return {};
}

std::string sentence(const kube::Condition& condition) {
  return condition.message.empty() ? condition.reason : condition.reason + ": " + condition.message;
}

}  // namespace

std::string_view version_of(SandboxApi api) noexcept {
  return api == SandboxApi::v1beta1 ? "v1beta1" : "v1alpha1";
}

kube::Resource at(const kube::Resource& resource, SandboxApi api) noexcept {
  return resource.at(version_of(api));
}

Result<Object> create_sandbox(const SandboxSpec& spec, const ManifestContext& context, SandboxApi api,
                              std::optional<WallTime> until) {
  auto pod = create_pod(spec, context);
  if (!pod) return pod;
  SKIFF_TRY(auto volumes, create_volume_claims(spec, context));
  Object sandbox = create_of(at(kube::kSandboxes, api), spec, context);
  labels::put(sandbox, labels::kSandbox, context.sandbox_id);
  json& body = sandbox.json["spec"];
  body["podTemplate"] = template_of(std::move(*pod));
  if (api == SandboxApi::v1beta1) body["service"] = spec.pod.service != ServiceKind::none;
  for (const Object& volume : volumes) {
    // The name of the Pod's volume (volume-N for ...-vol-N): the controller mounts its own claim there.
    const std::string number = volume.name().substr(volume.name().rfind('-') + 1);
    body["volumeClaimTemplates"].push_back(
        {{"metadata", {{"name", "volume-" + number}}}, {"spec", volume.json.at("spec")}});
  }
  if (until) {
    body["shutdownTime"] = net::format_time(*until);
    body["shutdownPolicy"] = spec.is_one_shot ? "Delete" : "Retain";
  }
  return sandbox;
}

Object create_claim(const SandboxSpec& spec, const ManifestContext& context, SandboxApi api, const ClaimSource& source,
                    std::optional<WallTime> until) {
  Object claim = create_of(at(kube::kSandboxClaims, api), spec, context);
  json& body = claim.json["spec"];
  if (api == SandboxApi::v1beta1) {
    body["warmPoolRef"]["name"] = source.pool;
  } else {
    body["sandboxTemplateRef"]["name"] = source.template_name;
    if (!source.pool.empty()) body["warmpool"] = source.pool;
  }
  if (until) body["lifecycle"] = {{"shutdownTime", net::format_time(*until)}, {"shutdownPolicy", "Delete"}};
  return claim;
}

Result<Object> create_template(const PoolSpec& pool, const ManifestContext& context, SandboxApi api) {
  SandboxSpec spec = pool.sandbox;
  spec.name = pool.name;
  spec.lease = {};  // it begins when a sandbox is taken
  auto pod = create_pod(spec, context);
  if (!pod) return pod;
  Object made = Object::make(at(kube::kSandboxTemplates, api), context.namespace_name, pool.name);
  labels::put_common(made, "pool", pool.name, spec.owner);
  json& body = made.json["spec"];
  body["podTemplate"] = {{"spec", std::move(pod->json["spec"])}};
  take_id_from_pod(body["podTemplate"]["spec"]);
  // Do not use the Pod's own labels: a list of sandboxes must not contain members of a pool.
  body["podTemplate"]["metadata"]["labels"] = {{labels::kPool, labels::label_value(pool.name)}};
  if (!spec.pod.annotations.empty()) body["podTemplate"]["metadata"]["annotations"] = spec.pod.annotations;
  SKIFF_TRY_VOID(put_network(body, spec));
  return made;
}

Result<std::optional<Object>> create_entrance(const PoolSpec& pool, const ManifestContext& context,
                                              std::string_view end) {
  if (network_label(pool.sandbox.pod).empty()) return std::nullopt;
  SKIFF_TRY(auto rules, network_rules(pool.sandbox.pod));
  Object made = Object::make(kube::kNetworkPolicies, context.namespace_name, (pool.name + "-agent").append(end));
  labels::put_common(made, "network", {}, pool.sandbox.owner);
  made.json["spec"] = {{"podSelector", {{"matchLabels", {{labels::kPool, labels::label_value(pool.name)}}}}},
                       {"policyTypes", json::array({"Ingress"})},
                       {"ingress", std::move(rules.ingress)}};
  return made;
}

Object create_warm_pool(const PoolSpec& pool, const ManifestContext& context, SandboxApi api,
                        const std::string& template_name) {
  Object made = Object::make(at(kube::kSandboxWarmPools, api), context.namespace_name, pool.name);
  labels::put_common(made, "pool", pool.name, pool.sandbox.owner);
  made.json["spec"] = {{"replicas", pool.size}, {"sandboxTemplateRef", {{"name", template_name}}}};
  return made;
}

json mode_patch(SandboxApi api, bool runs) {
  if (api == SandboxApi::v1alpha1) return {{"spec", {{"replicas", runs ? 1 : 0}}}};
  return {{"spec", {{"operatingMode", runs ? "Running" : "Suspended"}}}};
}

json lifetime_patch(bool is_claim, std::optional<WallTime> until) {
  const json time = until ? json(net::format_time(*until)) : json{};
  if (!is_claim) return {{"spec", {{"shutdownTime", time}}}};
  json lifecycle{{"shutdownTime", time}};
  if (until) lifecycle["shutdownPolicy"] = "Delete";
  return {{"spec", {{"lifecycle", std::move(lifecycle)}}}};
}

json spec_patch(const SandboxSpec& spec) {
  return {{"metadata", {{"annotations", {{kSpec, protocol::to_json(spec)}}}}}};
}

SandboxSpec spec_of(const Object& object) {
  std::vector<std::string> from_a_newer_skiff;
  auto known = protocol::decode<SandboxSpec>(object.annotation(kSpec), {}, &from_a_newer_skiff);
  SandboxSpec spec{.name = {}};
  if (known) spec = std::move(*known);
  spec.name = labels::get(object, labels::kName);
  spec.owner = labels::get(object, labels::kOwner);
  // Labels whose names are kept cannot be recognised by their names: the spec says which the user has given.
  std::erase_if(spec.labels, [&](const auto& label) {
    return !labels::is_raw(label.first) || object.label(label.first) != label.second;
  });
  spec.labels.merge(labels::user_labels(object));
  return spec;
}

bool is_claim(const Object& object) {
  return object.text({"kind"}) == kube::kSandboxClaims.kind;
}

std::optional<std::string> foreign_claim_name(std::string_view name) {
  if (!name.starts_with(kForeign) || name.size() == kForeign.size()) return std::nullopt;
  return std::string{name.substr(kForeign.size())};
}

std::string sandbox_name(const Object& claim) {
  const std::string name = claim.text({"status", "sandbox", "name"});
  return name.empty() ? claim.text({"status", "sandbox", "Name"}) : name;  // v0.2.1 writes it so
}

std::string pod_name(const Object& sandbox) {
  const std::string name = sandbox.annotation(kPodName);
  return name.empty() ? sandbox.name() : name;
}

bool runs_agent(const Object& pod) {
  return agent_container(pod) != nullptr;
}

std::string agent_id(const Object& pod) {
  std::string host = pod.text({"spec", "hostname"});
  if (host.empty()) host = pod.name().substr(0, kLongestHostName);
  while (host.ends_with('-') || host.ends_with('.')) host.pop_back();
  const json* container = agent_container(pod);
  const json* told = container == nullptr ? nullptr : variable(*container, "SKIFF_SANDBOX_ID");
  if (told == nullptr) return host;
  const Object entry{*told};
  const std::string path = entry.text({"valueFrom", "fieldRef", "fieldPath"});
  if (path == "metadata.uid") return pod.uid();
  if (path == "metadata.name") return pod.name();
  return entry.text({"value"});
}

ClaimVerdict judge_claim(const Object& object) {
  if (object.is_being_deleted()) return {.state = SandboxState::ended, .reason = "it is being removed"};
  const auto replicas = object.integer({"spec", "replicas"});
  if (object.text({"spec", "operatingMode"}) == "Suspended" || (!is_claim(object) && replicas == 0)) {
    return {.state = SandboxState::stopped};
  }
  const auto ready = object.condition("Ready");
  if (!ready) return {};
  // In the first releases a Sandbox with 0 replicas is ready, and its claim copies that.
  if (ready->message.contains("replicas is 0")) return {.state = SandboxState::stopped};
  if (ready->status == "True") return {.state = SandboxState::running};
  if (ready->reason == "SandboxSuspended") return {.state = SandboxState::stopped};
  if (ready->reason == "SandboxExpired" || ready->reason == "ClaimExpired") {
    return {.state = SandboxState::ended, .reason = "its lease is over"};
  }
  if (ready->reason == "PodSucceeded") {
    return {.state = SandboxState::failed, .reason = "its Pod has ended, and nothing says why", .lost_pod = true};
  }
  if (ready->reason == "PodFailed") {
    return {.state = SandboxState::failed, .reason = "its Pod has failed", .lost_pod = true};
  }
  const bool is_rejected = std::ranges::find(kRejections, ready->reason) != kRejections.end() ||
                           (ready->reason == "ReconcilerError" && ready->message.contains(" is forbidden: "));
  if (is_rejected) return {.state = SandboxState::failed, .reason = sentence(*ready), .rejected = true};
  return {.state = SandboxState::creating, .reason = sentence(*ready)};
}

Sandbox describe_claim(const Object& object) {
  const SandboxSpec spec = spec_of(object);
  ClaimVerdict verdict = judge_claim(object);
  const bool waits = verdict.state == SandboxState::creating;
  Sandbox sandbox{.name = spec.name,
                  .id = labels::get(object, labels::kSandbox),
                  .driver = "claim",
                  .state = verdict.state,
                  .reason = waits ? std::string{} : std::move(verdict.reason),
                  .owner = spec.owner,
                  .image = spec.image,
                  .labels = spec.labels,
                  .created_at = object.text({"metadata", "creationTimestamp"}),
                  .expires_at = {},
                  .address = {},
                  .details = {{"namespace", object.namespace_name()}, {"kind", object.text({"kind"})}},
                  .was_broken = verdict.lost_pod};
  const std::string end =
      is_claim(object) ? object.text({"spec", "lifecycle", "shutdownTime"}) : object.text({"spec", "shutdownTime"});
  if (!end.empty()) sandbox.expires_at = end;
  if (is_claim(object) && !labels::is_ours(object)) {
    sandbox.name = std::string{kForeign} + object.name();
    const std::string manager = object.label(labels::kManagedBy);
    sandbox.details["managed_by"] = manager.empty() ? "somebody else" : manager;
  }
  sandbox.details["object"] = object.name();
  if (const auto noted = noted_pod(object); noted && sandbox.state == SandboxState::running) {
    if (!noted->lost_with.empty()) sandbox.reason = began_anew(noted->lost_with);
  }
  if (is_claim(object)) {
    if (std::string name = sandbox_name(object); !name.empty()) sandbox.details["sandbox"] = std::move(name);
    if (!spec.pod.pool.empty()) sandbox.details["pool"] = spec.pod.pool;
    if (!spec.pod.template_name.empty()) sandbox.details["template"] = spec.pod.template_name;
  } else {
    sandbox.details["pod"] = pod_name(object);
    if (const std::string service = object.text({"status", "serviceFQDN"}); !service.empty()) {
      sandbox.details["service"] = service;
    }
  }
  const json* ips = is_claim(object) ? object.find({"status", "sandbox", "podIPs"}) : object.find({"status", "podIPs"});
  if (sandbox.state == SandboxState::running && ips != nullptr && ips->is_array() && !ips->empty() &&
      ips->front().is_string()) {
    const std::string ip = ips->front().get<std::string>();
    const bool is_v6 = ip.contains(':');
    sandbox.address = "http://" + (is_v6 ? "[" + ip + "]" : ip) + ":" + std::to_string(spec.pod.agent_port);
  }
  return sandbox;
}

void describe_end(Sandbox& sandbox, const Object& pod) {
  const std::string phase = kube::pod_phase(pod);
  if (phase != "Succeeded" && phase != "Failed") return;
  PodEnd end = end_of(pod);
  const bool is_late = end.by == EndedBy::unsaid && was_lease_over(end.ended_at, sandbox.expires_at);
  const bool is_own = is_own_end(end.by) || is_late;
  sandbox.state = is_own ? SandboxState::ended : SandboxState::failed;
  sandbox.was_broken = !is_own && end.by != EndedBy::deadline;
  sandbox.reason = is_late ? "its lease was over" : std::move(end.why);
  sandbox.details["ended_by"] = word_of(is_late ? EndedBy::lease : end.by);
  if (!end.ended_at.empty()) sandbox.details["ended_at"] = std::move(end.ended_at);
}

}  // namespace skiff::container
