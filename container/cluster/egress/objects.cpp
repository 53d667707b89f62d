#include "container/cluster/egress/objects.hpp"

#include <nlohmann/json.hpp>

#include "container/cluster/labels.hpp"
#include "container/kube/objects/pod.hpp"
#include "container/sandbox/dialects.hpp"
#include "container/sandbox/sandbox.hpp"
#include "protocol/net/address.hpp"

namespace skiff::container {
namespace {

using kube::Object;
using kube::Resource;
using nlohmann::json;

constexpr Resource kServiceAccounts{"", "v1", "serviceaccounts", "ServiceAccount"};
constexpr Resource kRoles{"rbac.authorization.k8s.io", "v1", "roles", "Role"};
constexpr Resource kRoleBindings{"rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding"};
constexpr Resource kDisruptionBudgets{"policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget"};

constexpr std::string_view kNamespaceLabel = "kubernetes.io/metadata.name";
constexpr std::string_view kNameLabel = "app.kubernetes.io/name";
constexpr int kReplicas = 2;
constexpr int kUser = 65532;

Object create_of(const Resource& resource, const std::string& namespace_name, std::string_view name) {
  Object object = Object::make(resource, namespace_name, name);
  labels::put_common(object, "egress", {}, {});
  object.json["metadata"]["labels"][kNameLabel] = kEgressName;
  return object;
}

json proxies() {
  return {{"matchLabels", {{kNameLabel, kEgressName}}}};
}

json in_namespace(const std::string& name) {
  return {{"matchLabels", {{kNamespaceLabel, name}}}};
}

json tcp(std::uint16_t port) {
  return json::array({json{{"port", port}, {"protocol", "TCP"}}});
}

Object service_account(const std::string& home) {
  Object account = create_of(kServiceAccounts, home, kEgressName);
  account.json["automountServiceAccountToken"] = false;
  return account;
}

/// The right to watch this kind of object there.
Object role(const std::string& where, const Resource& watched) {
  Object made = create_of(kRoles, where, kEgressName);
  made.json["rules"] = json::array({json{{"apiGroups", json::array({""})},
                                         {"resources", json::array({watched.plural})},
                                         {"verbs", json::array({"get", "list", "watch"})}}});
  return made;
}

Object role_binding(const std::string& where, const std::string& home) {
  Object made = create_of(kRoleBindings, where, kEgressName);
  made.json["roleRef"] = {{"apiGroup", kRoles.group}, {"kind", kRoles.kind}, {"name", kEgressName}};
  made.json["subjects"] =
      json::array({json{{"kind", kServiceAccounts.kind}, {"name", kEgressName}, {"namespace", home}}});
  return made;
}

json container_of(const EgressInstall& wanted) {
  const auto port = [](std::string_view name, std::uint16_t number) {
    return json{{"name", name}, {"containerPort", number}};
  };
  return {
      {"name", "egress"},
      {"image", wanted.image},
      {"args", json::array({"egress", "serve", "--cluster", wanted.tenant})},
      {"ports", json::array({port("proxy", kEgressPort), port("canary", kEgressCanaryPort),
                             port("metrics", kEgressHealthPort)})},
      // It listens there once it knows all Pods.
      {"readinessProbe", {{"tcpSocket", {{"port", "metrics"}}}, {"periodSeconds", 2}, {"failureThreshold", 2}}},
      {"resources", {{"requests", {{"cpu", "50m"}, {"memory", "32Mi"}}}, {"limits", {{"memory", "256Mi"}}}}},
      {"securityContext",
       {{"allowPrivilegeEscalation", false},
        {"readOnlyRootFilesystem", true},
        {"capabilities", {{"drop", json::array({"ALL"})}}}}},
      {"volumeMounts", json::array({json{{"name", "keys"}, {"mountPath", "/etc/skiff-egress"}, {"readOnly", true}}})}};
}

Object deployment(const EgressInstall& wanted, const std::string& home) {
  Object made = create_of(kEgressDeployments, home, kEgressName);
  json pod{{"serviceAccountName", kEgressName},
           {"automountServiceAccountToken", true},
           // Their variables would begin with SKIFF_EGRESS_, like those of settings.
           {"enableServiceLinks", false},
           {"terminationGracePeriodSeconds", 10},
           {"securityContext",
            {{"runAsNonRoot", true},
             {"runAsUser", kUser},
             {"runAsGroup", kUser},
             {"seccompProfile", {{"type", "RuntimeDefault"}}}}},
           {"topologySpreadConstraints", json::array({json{{"maxSkew", 1},
                                                           {"topologyKey", "kubernetes.io/hostname"},
                                                           {"whenUnsatisfiable", "ScheduleAnyway"},
                                                           {"labelSelector", proxies()}}})},
           {"containers", json::array({container_of(wanted)})},
           {"volumes", json::array({json{{"name", "keys"}, {"configMap", {{"name", kEgressName}}}}})}};
  made.json["spec"] = {
      {"replicas", kReplicas},
      {"selector", proxies()},
      {"strategy", {{"type", "RollingUpdate"}, {"rollingUpdate", {{"maxUnavailable", 0}, {"maxSurge", 1}}}}},
      {"template", {{"metadata", {{"labels", {{kNameLabel, kEgressName}}}}}, {"spec", std::move(pod)}}}};
  return made;
}

Object service(const std::string& home) {
  Object made = create_of(kube::kServices, home, kEgressName);
  const auto port = [](std::string_view name, std::uint16_t number) {
    return json{{"name", name}, {"port", number}, {"targetPort", name}, {"protocol", "TCP"}};
  };
  made.json["spec"] = {{"selector", {{kNameLabel, kEgressName}}},
                       {"ports", json::array({port("proxy", kEgressPort), port("canary", kEgressCanaryPort)})}};
  return made;
}

Object disruption_budget(const std::string& home) {
  Object made = create_of(kDisruptionBudgets, home, kEgressName);
  made.json["spec"] = {{"maxUnavailable", 1}, {"unhealthyPodEvictionPolicy", "AlwaysAllow"}, {"selector", proxies()}};
  return made;
}

/// The policy of the proxy itself. Its canary is open to everybody, so that nothing but the fence can close it.
Object admission(const std::string& tenant, const std::string& home) {
  Object made = create_of(kube::kNetworkPolicies, home, kEgressName);
  const json sandboxes = json::array({json{{"namespaceSelector", in_namespace(tenant)},
                                           {"podSelector", {{"matchLabels", {{labels::kNetwork, kEgressNetwork}}}}}}});
  made.json["spec"] = {{"podSelector", proxies()},
                       {"policyTypes", json::array({"Ingress"})},
                       {"ingress", json::array({json{{"from", sandboxes}, {"ports", tcp(kEgressPort)}},
                                                json{{"ports", tcp(kEgressCanaryPort)}},
                                                // Scrapers, wherever they are; no number names a sandbox.
                                                json{{"ports", tcp(kEgressHealthPort)}}})}};
  return made;
}

/// A policy that all sandboxes with egress by name in a namespace share.
Object shared_policy(const std::string& tenant, std::string_view prefix, std::string_view end) {
  Object made = Object::make(kube::kNetworkPolicies, tenant,
                             std::string{prefix}.append("network-").append(kEgressNetwork).append(end));
  labels::put_common(made, "network", {}, {});
  return made;
}

}  // namespace

std::string egress_namespace(std::string_view tenant) {
  return std::string{tenant} + "-egress";
}

Object egress_fence(const std::string& tenant, std::string_view prefix) {
  Object fence = shared_policy(tenant, prefix, "");
  const json proxy =
      json::array({json{{"namespaceSelector", in_namespace(egress_namespace(tenant))}, {"podSelector", proxies()}}});
  fence.json["spec"] = {{"podSelector", {{"matchLabels", {{labels::kNetwork, kEgressNetwork}}}}},
                        {"policyTypes", json::array({"Egress"})},
                        // Older programs made one policy for both directions: its ways in go.
                        {"ingress", json::array()},
                        {"egress", json::array({json{{"to", proxy}, {"ports", tcp(kEgressPort)}}})}};
  return fence;
}

Object egress_entrance(const std::string& tenant, std::string_view prefix) {
  Object entrance = shared_policy(tenant, prefix, "-agent");
  entrance.json["spec"] = {{"podSelector", {{"matchLabels", {{labels::kNetwork, kEgressNetwork}}}}},
                           {"policyTypes", json::array({"Ingress"})},
                           // The agent always requires a token, so it may be reachable.
                           {"ingress", json::array({json{{"ports", tcp(kAgentPort)}}})}};
  return entrance;
}

Object egress_dialects(const std::string& tenant, std::string_view prefix) {
  Object policy = shared_policy(tenant, prefix, "-dialects");
  // A port that is named is open at the Pods that have a port of this name, and at no others.
  json ports = json::array();
  for (const Dialect& dialect : kDialects) {
    for (const DialectPort& port : dialect.ports) ports.push_back({{"port", port.name}, {"protocol", "TCP"}});
  }
  policy.json["spec"] = {
      {"podSelector", {{"matchLabels", {{labels::kNetwork, kEgressNetwork}, {labels::kComponent, "sandbox"}}}}},
      {"policyTypes", json::array({"Ingress"})},
      {"ingress", json::array({json{{"ports", std::move(ports)}}})}};
  return policy;
}

Object egress_notice(const EgressInstall& wanted, const Object& service) {
  Object notice = create_of(kube::kConfigMaps, wanted.tenant, kEgressName);
  notice.json["data"][kEgressKeysField] = wanted.public_keys;
  const std::string ip = kube::cluster_ip(service);
  const auto proxy = protocol::Address::ip(ip, kEgressPort);
  const auto canary = protocol::Address::ip(ip, kEgressCanaryPort);
  if (proxy && canary) {
    notice.json["data"][kEgressProxyField] = proxy->text();
    notice.json["data"][kEgressCanaryField] = canary->text();
  }
  return notice;
}

std::vector<std::pair<Resource, Object>> egress_objects(const EgressInstall& wanted) {
  const std::string home = egress_namespace(wanted.tenant);
  Object place = create_of(kube::kNamespaces, {}, home);
  place.json["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] = "restricted";
  Object keys = create_of(kube::kConfigMaps, home, kEgressName);
  keys.json["data"][kEgressKeysField] = wanted.public_keys;
  // The policies come first, so that nothing runs without them.
  return {{kube::kNamespaces, std::move(place)},
          {kube::kNetworkPolicies, egress_entrance(wanted.tenant, wanted.prefix)},
          {kube::kNetworkPolicies, egress_fence(wanted.tenant, wanted.prefix)},
          {kube::kNetworkPolicies, egress_dialects(wanted.tenant, wanted.prefix)},
          {kube::kNetworkPolicies, admission(wanted.tenant, home)},
          {kServiceAccounts, service_account(home)},
          {kRoles, role(wanted.tenant, kube::kPods)},
          {kRoleBindings, role_binding(wanted.tenant, home)},
          {kRoles, role(home, kube::kSecrets)},
          {kRoleBindings, role_binding(home, home)},
          {kube::kConfigMaps, std::move(keys)},
          {kDisruptionBudgets, disruption_budget(home)},
          {kEgressDeployments, deployment(wanted, home)},
          {kube::kServices, service(home)}};
}

}  // namespace skiff::container
