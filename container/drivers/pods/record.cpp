#include "container/drivers/pods/record.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "container/cluster/labels.hpp"
#include "container/cluster/pod/pod_end.hpp"
#include "container/cluster/pod/pod_manifest.hpp"
#include "container/cluster/pod/pod_wait.hpp"
#include "container/kube/objects/pod.hpp"
#include "container/net/time.hpp"
#include "container/net/url.hpp"

namespace skiff::container {
namespace {

/// The field with the names of its secrets.
constexpr std::string_view kSecretNames = "egress_secrets";

/// A record without a Pod is younger than this while the Pod is being made.
constexpr std::chrono::minutes kBeingMade{1};

/// Why a sandbox whose Pod is gone does not run, if nobody wrote down a cause.
constexpr std::string_view kDeleted = "its pod was deleted: by a drain of its node, or by somebody";

/// True if the Pod has ended, even if its containers have ended and its phase does not show it yet.
bool has_ended(const kube::Object& pod) {
  const std::string phase = kube::pod_phase(pod);
  if (phase == "Succeeded" || phase == "Failed") return true;
  if (phase != "Running" || pod.is_being_deleted()) return false;
  const PodVerdict verdict = judge_pod(pod);
  return verdict.is_final &&
         (verdict.failure == FailureReason::exited || verdict.failure == FailureReason::out_of_memory);
}

struct StateNow {
  SandboxState state = SandboxState::creating;
  std::string reason = {};
  bool was_broken = false;
};

/// The state of a Pod that has ended. Unless it is recorded as its own end, the sandbox is kept, and `start` runs it
/// again.
StateNow state_at(const PodEnd& end) {
  if (is_own_end(end.by)) return {SandboxState::ended, end.why};
  return {SandboxState::failed, end.why, end.by != EndedBy::deadline};
}

StateNow state_of(const kube::Object& pod) {
  const std::string phase = kube::pod_phase(pod);
  const std::string silent =
      is_node_silent(pod) ? "its node " + pod.text({"spec", "nodeName"}) + " does not answer" : std::string{};
  if (pod.is_being_deleted()) {
    std::string why = "its pod is being deleted";
    const auto disruption = disruption_of(pod);
    if (disruption && silent.empty()) why.append(": ").append(disruption->why);
    if (!silent.empty()) why.append(", but ").append(silent).append(": `skiff rm --force` does not wait for it");
    return {disruption ? SandboxState::failed : SandboxState::ended, std::move(why), true};
  }
  if (has_ended(pod)) return state_at(end_of(pod));
  if (phase == "Running" && kube::is_pod_ready(pod)) return {SandboxState::running};
  if (phase == "Running" && !silent.empty()) return {SandboxState::running, silent};
  const PodVerdict verdict = judge_pod(pod);
  if (verdict.failure && verdict.is_final) return {SandboxState::failed, verdict.detail};
  // An agent that answered before and does not answer now is busy rather than new.
  if (phase == "Running") return {SandboxState::running, verdict.detail};
  std::string how{phase_word(verdict.phase)};
  if (!verdict.detail.empty()) how.append(": ").append(verdict.detail);
  return {SandboxState::creating, std::move(how)};
}

std::map<std::string, std::string> details_of(const kube::Object& pod) {
  std::map<std::string, std::string> details{{"namespace", pod.namespace_name()}, {"pod", pod.name()}};
  if (auto node = pod.text({"spec", "nodeName"}); !node.empty()) details["node"] = std::move(node);
  if (auto ip = kube::pod_ip(pod); !ip.empty()) details["pod_ip"] = std::move(ip);
  if (has_ended(pod)) {
    PodEnd end = end_of(pod);
    details["ended_by"] = word_of(end.by);
    if (!end.ended_at.empty()) details["ended_at"] = std::move(end.ended_at);
  } else if (const auto disruption = disruption_of(pod); disruption && pod.is_being_deleted()) {
    details["ended_by"] = word_of(disruption->by);
  }
  return details;
}

bool was_ended_by(const Sandbox& sandbox, EndedBy by) {
  const auto found = sandbox.details.find("ended_by");
  return found != sandbox.details.end() && found->second == word_of(by);
}

bool is_at_deadline(const Sandbox& sandbox) {
  return was_ended_by(sandbox, EndedBy::deadline);
}

/// True if the lease was over. Agents of older releases leave no last word, so the record's end of the lease decides.
bool had_its_time(const Sandbox& sandbox) {
  const auto ended_at = sandbox.details.find("ended_at");
  const bool is_unsaid = was_ended_by(sandbox, EndedBy::unsaid) && ended_at != sandbox.details.end();
  return is_unsaid && was_lease_over(ended_at->second, sandbox.expires_at);
}

std::string image_of(const kube::Object& pod) {
  const nlohmann::json* containers = pod.find({"spec", "containers"});
  if (containers == nullptr || !containers->is_array() || containers->empty()) return {};
  return containers->front().value("image", "");
}

}  // namespace

std::optional<std::string> lease_end_text(const Lease& lease, std::chrono::milliseconds wait) {
  if (!lease.ttl) return std::nullopt;
  return rfc3339(wall_now() + *lease.ttl + wait);
}

kube::Object create_record(const PodRecord& record, const std::string& namespace_name, const std::string& name) {
  kube::Object object = kube::Object::make(kube::kConfigMaps, namespace_name, name);
  labels::put_common(object, "record", record.spec.name, record.spec.owner);
  labels::put(object, labels::kSandbox, record.id);
  labels::put_user_labels(object, record.spec.labels);
  nlohmann::json& data = object.json["data"];
  data["spec"] = protocol::to_json(record.spec);
  if (record.spec.has_egress()) data["egress"] = nlohmann::json(record.spec.egress).dump();
  if (!record.spec.egress_secrets.empty()) data[kSecretNames] = nlohmann::json(record.spec.egress_secrets).dump();
  data["namespace"] = record.namespace_name;
  data["pod"] = record.pod;
  if (!record.pod_uid.empty()) data["pod_uid"] = record.pod_uid;
  if (!record.node.empty()) data["node"] = record.node;
  if (!record.started_at.empty()) data["started_at"] = record.started_at;
  if (!record.service_uid.empty()) data["service_uid"] = record.service_uid;
  if (!record.start.empty()) data["start"] = record.start;
  data["stopped"] = record.stopped ? "true" : "false";
  data["was_up"] = record.was_up ? "true" : "false";
  if (!record.lost_with.empty()) data["lost_with"] = record.lost_with;
  if (record.begun_at) data["begun_at"] = *record.begun_at;
  if (record.expires_at) data["expires_at"] = *record.expires_at;
  return object;
}

Result<PodRecord> read_record(const kube::Object& config_map) {
  const auto refuse = [&](const std::string& why) {
    return fail(Errc::invalid_field, "ConfigMap " + config_map.namespace_name() + "/" + config_map.name() +
                                         " is not a record of a sandbox: " + why + "; remove it by `skiff rm`");
  };
  PodRecord record;
  // A newer skiff may have written unknown fields.
  std::vector<std::string> ignored;
  auto spec = protocol::decode<SandboxSpec>(config_map.text({"data", "spec"}), {}, &ignored);
  if (!spec) return refuse(spec.error().message);
  record.spec = std::move(*spec);
  if (const std::string rules = config_map.text({"data", "egress"}); !rules.empty()) {
    auto list = protocol::decode<std::vector<std::string>>(rules);
    if (!list) return refuse("its egress is not a list of rules");
    record.spec.egress = std::move(*list);
    record.spec.is_fenced = true;
  }
  if (const std::string names = config_map.text({"data", kSecretNames}); !names.empty()) {
    auto list = protocol::decode<std::vector<std::string>>(names);
    if (!list) return refuse("its secrets are not a list of names");
    record.spec.egress_secrets = std::move(*list);
  }
  // A sandbox from a pool keeps its id in the pool; the label has the record's own id.
  record.id = config_map.text({"data", "id"});
  if (record.id.empty()) record.id = config_map.label(labels::kSandbox);
  record.namespace_name = config_map.text({"data", "namespace"});
  record.pod = config_map.text({"data", "pod"});
  record.pod_uid = config_map.text({"data", "pod_uid"});
  record.node = config_map.text({"data", "node"});
  record.started_at = config_map.text({"data", "started_at"});
  record.service_uid = config_map.text({"data", "service_uid"});
  record.start = config_map.text({"data", "start"});
  record.stopped = config_map.text({"data", "stopped"}) == "true";
  record.was_up = config_map.text({"data", "was_up"}) == "true";
  record.lost_with = config_map.text({"data", "lost_with"});
  if (auto begun = config_map.text({"data", "begun_at"}); !begun.empty()) record.begun_at = std::move(begun);
  if (auto expires = config_map.text({"data", "expires_at"}); !expires.empty()) record.expires_at = std::move(expires);
  if (record.id.empty() || record.namespace_name.empty() || record.pod.empty()) return refuse("it says too little");
  return record;
}

std::string text_to_seal(const PodRecord& record, const kube::Object& config_map) {
  const nlohmann::json text{"skiff-record",   config_map.uid(),  record.namespace_name,
                            record.pod,       record.pod_uid,    record.id,
                            record.spec.name, record.spec.owner, record.spec.pod.agent_port};
  return text.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

kube::Object recorded_pod(const PodRecord& record, const std::string& public_key) {
  using nlohmann::json;
  kube::Object pod = kube::Object::make(kube::kPods, record.namespace_name, record.pod);
  labels::put_common(pod, "sandbox", record.spec.name, record.spec.owner);
  labels::put(pod, labels::kSandbox, record.id);
  pod.json["metadata"]["uid"] = record.pod_uid;
  json container{{"name", "sandbox"}};
  container["env"] = json::array({json{{"name", "SKIFF_PUBLIC_KEY"}, {"value", public_key}}});
  container["ports"] = json::array({json{{"name", kAgentPortName}, {"containerPort", record.spec.pod.agent_port}}});
  pod.json["spec"]["containers"] = json::array({std::move(container)});
  return pod;
}

Sandbox describe_pod(const kube::Object& pod) {
  StateNow now = state_of(pod);
  Sandbox sandbox{.name = labels::get(pod, labels::kName),
                  .id = pod.label(labels::kSandbox),
                  .driver = "pod",
                  .state = now.state,
                  .reason = std::move(now.reason),
                  .owner = labels::get(pod, labels::kOwner),
                  .image = image_of(pod),
                  .labels = labels::user_labels(pod),
                  .created_at = pod.text({"metadata", "creationTimestamp"}),
                  .expires_at = {},
                  .address = {},
                  .details = details_of(pod),
                  .was_broken = now.was_broken};
  if (sandbox.state == SandboxState::ended || sandbox.state == SandboxState::failed) return sandbox;
  if (auto expires = pod.annotation(labels::kExpiresAt); !expires.empty()) sandbox.expires_at = std::move(expires);
  if (sandbox.state == SandboxState::running) {
    sandbox.address = net::Url{.tls = false, .host = kube::pod_ip(pod), .port = agent_port_of(pod)}.text();
  }
  return sandbox;
}

Sandbox describe(const PodRecord& record, const kube::Object& config_map, const Sandbox* pod, WallTime now) {
  Sandbox sandbox{.name = record.spec.name,
                  .id = record.id,
                  .driver = "pod",
                  .state = SandboxState::creating,
                  .reason = {},
                  .owner = record.spec.owner,
                  .image = record.spec.image,
                  .labels = record.spec.labels,
                  .created_at = config_map.text({"metadata", "creationTimestamp"}),
                  .expires_at = record.expires_at,
                  .address = {},
                  .details = {{"namespace", record.namespace_name}, {"pod", record.pod}}};
  if (record.spec.has_egress()) {
    sandbox.details["network"] = egress_text(record.spec.egress, record.spec.egress_secrets);
  }
  if (!record.spec.pod.pool.empty()) sandbox.details["pool"] = record.spec.pod.pool;
  if (record.stopped) {
    sandbox.state = SandboxState::stopped;
    sandbox.expires_at.reset();
    return sandbox;
  }
  if (pod == nullptr) {
    const auto begun = record.begun_at ? net::parse_time(*record.begun_at) : config_map.created();
    if (!record.was_up && begun && now - *begun < kBeingMade + record.spec.wait) return sandbox;
    sandbox.state = SandboxState::failed;
    sandbox.reason = kDeleted;
    sandbox.was_broken = true;
    sandbox.was_never_up = !record.was_up && !record.begun_at;
    return sandbox;
  }
  sandbox.state = pod->state;
  sandbox.reason = pod->reason;
  auto details = pod->details;
  details.merge(sandbox.details);  // details that the Pod does not have
  sandbox.details = std::move(details);
  sandbox.was_broken = pod->was_broken;
  if (had_its_time(sandbox)) {
    sandbox.state = SandboxState::ended;
    sandbox.reason = "its lease was over";
    sandbox.was_broken = false;
  }
  const bool has_content = record.was_up || record.begun_at;
  // The process that created it was killed before it noted that the sandbox is up; otherwise it would have given up by
  // now.
  const auto made = config_map.created();
  const bool is_late = made && now - *made >= kBeingMade + record.spec.wait;
  if (!has_content && is_late) sandbox.was_never_up = true;
  if (sandbox.state == SandboxState::failed) {
    // A sandbox that cannot be started now is kept, too: its data is on its volumes.
    if (has_content && !is_at_deadline(sandbox)) sandbox.was_broken = true;
    sandbox.was_never_up = !has_content;
  }
  const bool is_over = sandbox.state == SandboxState::ended || sandbox.state == SandboxState::failed;
  if (is_over && !sandbox.was_broken) sandbox.expires_at.reset();
  if (sandbox.state != SandboxState::running) return sandbox;
  sandbox.address = pod->address;
  if (sandbox.reason.empty() && !record.lost_with.empty()) {
    sandbox.reason = began_anew(record.lost_with);
  }
  if (record.spec.pod.service != ServiceKind::none) {
    const std::string service = service_name(config_map.name());
    sandbox.details["service"] = service;
    sandbox.address =
        "http://" + service + "." + record.namespace_name + ":" + std::to_string(record.spec.pod.agent_port);
  }
  return sandbox;
}

Sandbox describe_unseen(const PodRecord& record, const kube::Object& config_map, const Error& why) {
  Sandbox sandbox = describe(record, config_map, nullptr, {});
  if (record.stopped) return sandbox;
  if (sandbox.was_broken) sandbox.expires_at.reset();
  sandbox.was_broken = sandbox.was_never_up = false;
  sandbox.state = record.was_up ? SandboxState::running : SandboxState::creating;
  sandbox.reason = "its Pod cannot be read: " + why.message;
  return sandbox;
}

Sandbox describe_damaged(const kube::Object& config_map, const Error& damage) {
  // A newer skiff may have written the record, and its sandbox may be alive.
  const std::string expires = config_map.text({"data", "expires_at"});
  return {.name = labels::get(config_map, labels::kName),
          .id = config_map.label(labels::kSandbox),
          .driver = "pod",
          .state = SandboxState::failed,
          .reason = damage.message,
          .owner = labels::get(config_map, labels::kOwner),
          .image = {},
          .labels = labels::user_labels(config_map),
          .created_at = config_map.text({"metadata", "creationTimestamp"}),
          .expires_at = expires.empty() ? std::nullopt : std::optional{expires},
          .address = {},
          .details = {},
          .was_broken = true};
}

}  // namespace skiff::container
