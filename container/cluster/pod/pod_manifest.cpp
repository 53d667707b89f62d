#include "container/cluster/pod/pod_manifest.hpp"

#include <algorithm>
#include <set>
#include <type_traits>
#include <utility>

#include <nlohmann/json.hpp>

#include "container/cluster/egress/sandbox_parts.hpp"
#include "container/cluster/labels.hpp"
#include "container/cluster/pod/network_policies.hpp"
#include "container/kube/objects/pod.hpp"
#include "container/sandbox/dialects.hpp"

namespace skiff::container {
namespace {

using kube::Object;
using nlohmann::json;

constexpr std::string_view kAgentDirectory = "/skiff";
constexpr std::string_view kAgentProgram = "/skiff/skiffd";
/// Longer than the agent's own drain (10 s), so that the agent ends its commands itself.
constexpr int kGraceSeconds = 30;
/// Lower ports need a capability that the container lacks (capabilities(7)), unless its Pod sets a sysctl.
constexpr std::uint16_t kFirstOrdinaryPort = 1024;

/// Creates an object with the sandbox's labels for name and owner.
Object create_of(const kube::Resource& resource, const SandboxSpec& spec, const ManifestContext& context,
                 const std::string& name, std::string_view component) {
  Object object = Object::make(resource, context.namespace_name, name);
  labels::put_common(object, component, spec.name, spec.owner);
  labels::put(object, labels::kSandbox, context.sandbox_id);
  return object;
}

json probe(int period_seconds, long long failures) {
  return {{"httpGet", {{"path", "/readyz"}, {"port", kAgentPortName}}},
          {"periodSeconds", period_seconds},
          {"timeoutSeconds", 5},
          {"failureThreshold", failures}};
}

Result<json> resources(const PodOptions& pod) {
  json all = json::object();
  for (const auto& [name, flag, text] :
       {std::tuple<std::string_view, std::string_view, const std::string&>{"cpu", "--cpu", pod.cpu},
        {"memory", "--memory", pod.memory},
        {"ephemeral-storage", "--disk", pod.disk}}) {
    SKIFF_TRY(auto amounts, parse_amounts(text, flag));
    if (amounts.request.empty()) continue;
    all["requests"][name] = amounts.request;
    all["limits"][name] = amounts.limit;
  }
  return all;
}

/// The home directory in E2B's own sandboxes, which programs for it name.
const std::string kE2bHome = "/home/user";

bool speaks_e2b(const PodOptions& pod) {
  return std::ranges::find(pod.dialects, kE2bName) != pod.dialects.end();
}

json container_security() {
  return {{"allowPrivilegeEscalation", false}, {"capabilities", {{"drop", json::array({"ALL"})}}}};
}

Result<json> pod_security(const SandboxSpec& spec, bool assigns_ids) {
  const PodOptions& pod = spec.pod;
  auto profile = parse_seccomp(pod.seccomp);
  if (!profile) return profile;
  json context{{"seccompProfile", std::move(*profile)}};
  SKIFF_TRY(auto ports, ports_of_dialects(pod.dialects));
  // The agent's name server has port 53, and the agent listens on the ports of the servers that rules name.
  std::uint16_t lowest = spec.has_egress() ? 0 : kFirstOrdinaryPort;
  for (const DialectPort& port : ports) lowest = std::min(lowest, port.number);
  if (lowest < kFirstOrdinaryPort) {
    // The Pod Security Standard `restricted` permits this sysctl.
    context["sysctls"] =
        json::array({json{{"name", "net.ipv4.ip_unprivileged_port_start"}, {"value", std::to_string(lowest)}}});
  }
  SKIFF_TRY(auto ids, parse_run_as(pod.run_as));
  if (!ids) return context;
  context["runAsNonRoot"] = ids->user != 0;
  if (assigns_ids) return context;
  context["runAsUser"] = ids->user;
  context["runAsGroup"] = ids->group;
  context["fsGroup"] = ids->group;
  context["fsGroupChangePolicy"] = "OnRootMismatch";
  return context;
}

/// The agent's settings and the sandbox's own variables. The settings win: they decide who may use the sandbox.
json environment(const SandboxSpec& spec, const ManifestContext& context) {
  std::map<std::string, std::string> merged = spec.env;
  merged["SANDBOX_ID"] = context.sandbox_id;
  merged["SKIFF_SANDBOX_ID"] = context.sandbox_id;
  merged["SKIFF_PUBLIC_KEY"] = context.public_key;
  // Listen on both IPv6 and IPv4: probes, Services and clients use the family that the cluster or their side of it has.
  merged["SKIFF_LISTEN"] = "[::]:" + std::to_string(spec.pod.agent_port);
  merged["SKIFF_ROOT"] = spec.pod.workdir;
  if (speaks_e2b(spec.pod)) {
    merged["SKIFF_E2B_HOME"] = kE2bHome;
    merged.try_emplace("HOME", kE2bHome);
  }
  // Requests come with many host names (the Service's, an API server's, a load balancer's), and always need a token.
  merged["SKIFF_ALLOWED_HOST"] = "*";
  std::string dialects;
  for (const std::string& name : spec.pod.dialects) {
    if (!dialects.empty()) dialects += ',';
    dialects += dialect_setting(name, "[::]", PortNumbers::known);
  }
  if (!dialects.empty()) merged["SKIFF_DIALECT"] = std::move(dialects);
  add_egress_variables(spec, context.egress, merged);
  if (spec.lease.ttl) merged["SKIFF_TTL"] = std::to_string(spec.lease.ttl->count());
  if (spec.lease.idle_ttl) merged["SKIFF_IDLE_TTL"] = std::to_string(spec.lease.idle_ttl->count());
  json list = json::array();
  for (const auto& [name, value] : merged) list.push_back({{"name", name}, {"value", value}});
  if (!spec.pod.token_secret.empty()) {
    list.push_back({{"name", "SKIFF_TOKEN"},
                    {"valueFrom", {{"secretKeyRef", {{"name", spec.pod.token_secret}, {"key", "token"}}}}}});
  }
  return list;
}

std::string claim_name(const SandboxSpec& spec, const ManifestContext& context, std::size_t index) {
  return context.prefix + spec.name + "-vol-" + std::to_string(index);
}

/// The Pod's volumes, and their mounts in the sandbox's container.
struct Mounts {
  json volumes = json::array();
  json mounts = json::array();
  std::set<std::string> paths{};
};

/// Adds the home directory of E2B's programs. It is kept as long as the working directory: on the same volume, if that
/// has one.
void put_home(Mounts& all, const PodOptions& pod) {
  const auto kept = std::ranges::find_if(all.mounts, [&pod](const json& mount) {
    return mount["mountPath"] == pod.workdir && !mount.value("readOnly", false);
  });
  if (kept != all.mounts.end() && all.paths.contains(pod.workdir)) {
    json mount{{"name", (*kept)["name"]}, {"mountPath", kE2bHome}, {"subPath", "home"}};
    all.mounts.push_back(std::move(mount));
    return;
  }
  all.volumes.push_back({{"name", "home"}, {"emptyDir", json::object()}});
  all.mounts.push_back({{"name", "home"}, {"mountPath", kE2bHome}});
}

Result<Mounts> mounts_of(const SandboxSpec& spec, const ManifestContext& context) {
  Mounts all;
  for (std::size_t i = 0; i < spec.pod.volumes.size(); ++i) {
    SKIFF_TRY(auto volume, parse_volume(spec.pod.volumes[i]));
    const std::string name = "volume-" + std::to_string(i);
    const std::string claim = volume.kind == Volume::Kind::own ? claim_name(spec, context, i) : volume.name;
    json mount{{"name", name}, {"mountPath", volume.path}};
    switch (volume.kind) {
      case Volume::Kind::own:
      case Volume::Kind::claim:
        all.volumes.push_back({{"name", name}, {"persistentVolumeClaim", {{"claimName", claim}}}});
        break;
      case Volume::Kind::secret:
        all.volumes.push_back({{"name", name}, {"secret", {{"secretName", volume.name}}}});
        mount["readOnly"] = true;
        break;
      case Volume::Kind::config:
        all.volumes.push_back({{"name", name}, {"configMap", {{"name", volume.name}}}});
        mount["readOnly"] = true;
        break;
    }
    all.mounts.push_back(std::move(mount));
    all.paths.insert(volume.path);
  }
  if (!all.paths.contains(spec.pod.workdir)) {
    all.volumes.push_back({{"name", "workspace"}, {"emptyDir", json::object()}});
    all.mounts.push_back({{"name", "workspace"}, {"mountPath", spec.pod.workdir}});
  }
  if (speaks_e2b(spec.pod) && spec.pod.workdir != kE2bHome && !all.paths.contains(kE2bHome)) put_home(all, spec.pod);
  add_egress_volume(spec, all.volumes, all.mounts);
  if (spec.pod.inject) {
    all.volumes.push_back({{"name", "skiff"}, {"emptyDir", json::object()}});
    all.mounts.push_back({{"name", "skiff"}, {"mountPath", kAgentDirectory}, {"readOnly", true}});
  }
  return all;
}

void put_pull_policy(json& container, const PodOptions& pod) {
  if (!pod.pull_policy.empty()) container["imagePullPolicy"] = pod.pull_policy;
}

/// Converts an option to a field of a Pod's spec.
template <class T>
json in_spec(const T& value) {
  if constexpr (std::is_same_v<T, TimeLimit>) {
    return std::chrono::ceil<std::chrono::seconds>(*value).count();
  } else {
    return json::parse(protocol::to_json(value));
  }
}

Result<json> create_spec(const SandboxSpec& spec, const ManifestContext& context) {
  const PodOptions& pod = spec.pod;
  SKIFF_TRY(auto limits, resources(pod));
  SKIFF_TRY(auto security, pod_security(spec, context.assigns_ids));
  SKIFF_TRY(auto mounts, mounts_of(spec, context));
  SKIFF_TRY(auto dialects, ports_of_dialects(pod.dialects));
  json ports = json::array({json{{"name", kAgentPortName}, {"containerPort", pod.agent_port}}});
  for (const DialectPort& port : dialects) ports.push_back({{"name", port.name}, {"containerPort", port.number}});

  const long long wait_seconds = std::max<long long>(30, std::chrono::ceil<std::chrono::seconds>(spec.wait).count());
  json container{{"name", "sandbox"},
                 {"image", spec.image},
                 {"workingDir", pod.workdir},
                 {"ports", std::move(ports)},
                 {"env", environment(spec, context)},
                 {"resources", limits},
                 {"securityContext", container_security()},
                 {"volumeMounts", std::move(mounts.mounts)},
                 {"startupProbe", probe(1, wait_seconds)},
                 {"readinessProbe", probe(5, 3)},
                 {"terminationMessagePolicy", "FallbackToLogsOnError"}};
  put_pull_policy(container, pod);
  if (pod.inject) container["command"] = json::array({kAgentProgram});
  for (const std::string& text : pod.env_from) {
    auto source = parse_env_from(text);
    if (!source) return source;
    container["envFrom"].push_back(std::move(*source));
  }
  if (!pod.entrypoint.empty()) {
    SKIFF_TRY(auto words, parse_entrypoint(pod.entrypoint));
    container["args"] = json::array({"--"});
    for (std::string& word : words) container["args"].push_back(std::move(word));
  }
  json made{{"restartPolicy", "Never"},
            {"automountServiceAccountToken", !pod.service_account.empty()},
            {"enableServiceLinks", false},
            {"terminationGracePeriodSeconds", kGraceSeconds},
            {"securityContext", std::move(security)},
            {"volumes", std::move(mounts.volumes)},
            {"containers", json::array({std::move(container)})}};
  if (pod.inject) {
    json bring{{"name", "skiff"},
               {"image", pod.agent_image},
               {"command", {"/skiffd", "install", kAgentDirectory}},
               {"resources", limits},
               {"securityContext", container_security()},
               {"volumeMounts", json::array({json{{"name", "skiff"}, {"mountPath", kAgentDirectory}}})},
               {"terminationMessagePolicy", "FallbackToLogsOnError"}};
    put_pull_policy(bring, pod);
    made["initContainers"] = json::array({std::move(bring)});
  }
  for_each_pod_option([&](const auto& option) {
    if (!option.spec.empty() && !option.is_default(pod)) made[option.spec] = in_spec(pod.*option.member);
  });
  for (const std::string& secret : pod.pull_secrets) made["imagePullSecrets"].push_back({{"name", secret}});
  for (const std::string& text : pod.tolerations) {
    SKIFF_TRY(auto toleration, parse_toleration(text));
    made["tolerations"].push_back(std::move(toleration));
  }
  if (!pod.overrides.empty()) merge_overrides(made, json::parse(pod.overrides));
  return made;
}

/// The field that identifies entries of a list, as in the API's own merges (x-kubernetes-patch-merge-key).
std::string_view merge_key_of(std::string_view list) {
  return list == "volumeMounts" ? "mountPath" : "name";
}

void merge_under(std::string_view name, json& into, const json& overrides) {
  if (into.is_object() && overrides.is_object()) {
    for (const auto& [key, value] : overrides.items()) {
      if (value.is_null()) {
        into.erase(key);
      } else {
        merge_under(key, into[key], value);
      }
    }
    return;
  }
  const std::string_view known_by = merge_key_of(name);
  const auto is_known = [known_by](const json& list) {
    return list.is_array() && std::ranges::all_of(list, [known_by](const json& one) {
             return one.is_object() && one.contains(known_by) && one[known_by].is_string();
           });
  };
  if (!is_known(into) || !is_known(overrides) || overrides.empty()) {
    into = overrides;
    return;
  }
  for (const json& one : overrides) {
    const auto same = std::ranges::find_if(into, [&](const json& other) { return other[known_by] == one[known_by]; });
    if (same == into.end()) {
      into.push_back(one);
    } else {
      merge_under({}, *same, one);
    }
  }
}

}  // namespace

std::uint16_t agent_port_of(const Object& pod) {
  return kube::container_port(pod, kAgentPortName).value_or(kAgentPort);
}

std::string service_name(std::string_view object_name) {
  return std::string{object_name} + "-svc";
}

Result<Object> create_pod(const SandboxSpec& spec, const ManifestContext& context) {
  SKIFF_TRY(auto made, create_spec(spec, context));
  Object pod = create_of(kube::kPods, spec, context, context.prefix + spec.name, "sandbox");
  labels::put_user_labels(pod, spec.labels);
  if (!spec.pod.username.empty()) labels::put(pod, labels::kUsername, spec.pod.username);
  if (const std::string kind = network_label(spec); !kind.empty()) labels::put(pod, labels::kNetwork, kind);
  // No controller creates the Pod again if its node is removed, so ask cluster-autoscaler and Karpenter to keep the
  // node.
  pod.json["metadata"]["annotations"]["cluster-autoscaler.kubernetes.io/safe-to-evict"] = "false";
  pod.json["metadata"]["annotations"]["karpenter.sh/do-not-disrupt"] = "true";
  for (const auto& [name, value] : spec.pod.annotations) pod.json["metadata"]["annotations"][name] = value;
  pod.json["spec"] = std::move(made);
  put_egress(spec, context.egress, pod);
  return pod;
}

json service_exposure(const PodOptions& pod) {
  // By default (Cluster) a node that passes on a connection replaces the client's address by its own.
  const bool is_balanced = pod.service == ServiceKind::loadbalancer;
  if (!is_balanced && pod.service != ServiceKind::nodeport) return json::object();
  json fields{{"externalTrafficPolicy", pod.allow.empty() ? "Cluster" : "Local"}};
  if (is_balanced) fields["loadBalancerSourceRanges"] = pod.allow.empty() ? json{} : json(pod.allow);
  return fields;
}

std::optional<Object> create_service(const SandboxSpec& spec, const ManifestContext& context) {
  if (spec.pod.service == ServiceKind::none) return std::nullopt;
  Object service = create_of(kube::kServices, spec, context, service_name(context.prefix + spec.name), "sandbox");
  json& body = service.json["spec"];
  body["selector"] = {{labels::kSandbox, context.sandbox_id}};
  body["ports"] =
      json::array({json{{"name", kAgentPortName}, {"port", spec.pod.agent_port}, {"targetPort", kAgentPortName}}});
  for (const DialectPort& port : ports_of_dialects(spec.pod.dialects).value_or(std::vector<DialectPort>{})) {
    body["ports"].push_back({{"name", port.name}, {"port", port.number}, {"targetPort", port.name}});
  }
  for (const std::string& text : spec.pod.ports) {
    if (const auto port = parse_port(text)) {
      body["ports"].push_back({{"name", "port-" + text}, {"port", *port}, {"targetPort", *port}});
    }
  }
  // Clients in the cluster may use either family. A second address that can be reached from outside is not asked for.
  const bool is_inside = spec.pod.service == ServiceKind::clusterip || spec.pod.service == ServiceKind::headless;
  if (is_inside) body["ipFamilyPolicy"] = "PreferDualStack";
  switch (spec.pod.service) {
    case ServiceKind::headless:
      body["clusterIP"] = "None";
      break;
    case ServiceKind::nodeport:
      body["type"] = "NodePort";
      break;
    case ServiceKind::loadbalancer:
      body["type"] = "LoadBalancer";
      break;
    default:
      break;
  }
  if (!spec.pod.allow.empty()) body.update(service_exposure(spec.pod));
  return service;
}

Result<std::vector<Object>> create_volume_claims(const SandboxSpec& spec, const ManifestContext& context) {
  std::vector<Object> claims;
  for (std::size_t i = 0; i < spec.pod.volumes.size(); ++i) {
    SKIFF_TRY(auto volume, parse_volume(spec.pod.volumes[i]));
    if (volume.kind != Volume::Kind::own) continue;
    Object claim = create_of(kube::kVolumeClaims, spec, context, claim_name(spec, context, i), "volume");
    claim.json["spec"] = {{"accessModes", json::array({"ReadWriteOnce"})},
                          {"resources", {{"requests", {{"storage", volume.size}}}}}};
    if (!volume.storage_class.empty()) claim.json["spec"]["storageClassName"] = volume.storage_class;
    claims.push_back(std::move(claim));
  }
  return claims;
}

Object create_namespace(const SandboxSpec& spec, const ManifestContext& context) {
  return create_of(kube::kNamespaces, spec, context, context.namespace_name, "namespace");
}

Result<std::optional<Object>> create_quota(const SandboxSpec& spec, const ManifestContext& context) {
  if (spec.pod.quota.empty()) return std::nullopt;
  Object quota = create_of(kube::kResourceQuotas, spec, context, context.prefix + "quota", "quota");
  for (const std::string& text : spec.pod.quota) {
    SKIFF_TRY(auto parts, parse_quota(text));
    quota.json["spec"]["hard"][parts.first] = parts.second;
  }
  return quota;
}

std::vector<std::pair<kube::Resource, std::string>> owned_objects(const SandboxSpec& spec, std::string_view prefix) {
  const ManifestContext context{.prefix = std::string{prefix}};
  std::vector<std::pair<kube::Resource, std::string>> objects;
  for (std::size_t i = 0; i < spec.pod.volumes.size(); ++i) {
    const auto volume = parse_volume(spec.pod.volumes[i]);
    if (volume && volume->kind == Volume::Kind::own) {
      objects.emplace_back(kube::kVolumeClaims, claim_name(spec, context, i));
    }
  }
  if (network_label(spec.pod) == kOwnPolicy)
    objects.emplace_back(kube::kNetworkPolicies, own_policy_name(spec, context.prefix));
  return objects;
}

void merge_overrides(json& into, const json& overrides) {
  merge_under({}, into, overrides);
}

}  // namespace skiff::container
