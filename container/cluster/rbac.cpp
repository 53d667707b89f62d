#include "container/cluster/rbac.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <tuple>
#include <utility>

#include "container/kube/objects/resource.hpp"

namespace skiff::container {
namespace {

using nlohmann::json;

/// A row of the table: verbs separated by spaces.
struct Right {
  std::string_view group;
  std::string_view resource;
  std::string_view verbs;
  std::string_view name = {};
};
using Rights = std::vector<Right>;

constexpr std::string_view kCore;
constexpr std::string_view kNetworking = kube::kNetworkPolicies.group;
constexpr std::string_view kAgents = kube::kSandboxes.group;
constexpr std::string_view kExtensions = kube::kSandboxClaims.group;

/// Names of the Secrets, without the prefix of all names.
constexpr std::string_view kKeyName = "signing-key";
constexpr std::string_view kApiKeysName = "api-keys";

// --- rights that commands share ---

/// To sign a token for an existing sandbox, and for a new one, whose creation may create the key.
const Rights kKey{{kCore, "secrets", "get", kKeyName}};
const Rights kNewKey{{kCore, "secrets", "get", kKeyName}, {kCore, "secrets", "create"}};
/// To reach an agent. A port-forward over WebSocket is a `get` for API servers up to 1.34 and a `create` for later
/// ones; the proxy takes the verb from the method, so a POST is a `create`.
const Rights kReach{
    {kCore, "services", "get"}, {kCore, "pods/portforward", "get create"}, {kCore, "pods/proxy", "get create"}};
/// To reach agents from a server in a Pod: at their addresses, or by a tunnel where their network admits only nodes.
/// The proxy would need the verb of every method that the clients use.
const Rights kTunnel{{kCore, "services", "get"}, {kCore, "pods/portforward", "get create"}};
const Rights kProxyPut{{kCore, "pods/proxy", "update"}};
const Rights kProxyPatch{{kCore, "pods/proxy", "patch"}};
const Rights kProxyDelete{{kCore, "pods/proxy", "delete"}};
/// To explain why a Pod does not start.
const Rights kExplain{{kCore, "pods/log", "get"}, {kCore, "events", "list"}};
const Rights kEvents{{kCore, "events", "list"}};
const Rights kLog{{kCore, "pods/log", "get"}};
/// To find out whether the namespace assigns user ids.
const Rights kHome{{kCore, "namespaces", "get"}};
const Rights kNone;
/// To rotate the key and find the users of older keys, including objects that agent-sandbox created from a template.
const Rights kKeyChange{{kCore, "secrets", "get patch", kKeyName},
                        {kCore, "pods", "get list"},
                        {kCore, "configmaps", "list"},
                        {kAgents, "sandboxes", "list"},
                        {kExtensions, "sandboxtemplates", "list"}};
/// To read the API keys of `skiff serve`, and to create and revoke them.
const Rights kApiKeys{{kCore, "secrets", "get", kApiKeysName}};
const Rights kApiKeysChange{{kCore, "secrets", "get patch", kApiKeysName}, {kCore, "secrets", "create"}};

// --- driver `pod`: deleted objects are watched until they are gone, and a watch may begin with a list ---

const Rights kPodFind{{kCore, "configmaps", "get"}, {kCore, "pods", "get"}};
const Rights kPodList{{kCore, "configmaps", "list"}, {kCore, "pods", "list"}};
const Rights kPodMake{{kCore, "pods", "create get list watch delete"}};
/// To apply the policy that all sandboxes of a kind share.
const Rights kPodPolicy{{kNetworking, "networkpolicies", "create patch"}};
const Rights kPodRecord{{kCore, "configmaps", "create get list watch patch delete"}};
const Rights kPodAround{{kCore, "services", "create get list watch delete"},
                        {kCore, "persistentvolumeclaims", "create get list watch delete"},
                        {kNetworking, "networkpolicies", "create get list watch patch delete"}};
const Rights kPodStop{{kCore, "configmaps", "get patch"},
                      {kCore, "pods", "get list watch delete"},
                      {kCore, "services", "get list watch delete"}};
const Rights kPodExtend{{kCore, "configmaps", "patch"}, {kCore, "pods", "patch"}};
const Rights kPodNetwork{{kCore, "configmaps", "get patch"},
                         {kCore, "pods", "get patch"},
                         {kCore, "services", "patch"},
                         {kNetworking, "networkpolicies", "create get list watch patch delete"}};
const Rights kPodRemove{{kCore, "configmaps", "get list watch delete"},
                        {kCore, "pods", "get list watch delete"},
                        {kCore, "services", "get list watch delete"},
                        {kCore, "persistentvolumeclaims", "get list watch delete"},
                        {kNetworking, "networkpolicies", "get list watch delete"}};
/// A patch takes a Pod from a pool.
const Rights kPodPool{{kCore, "pods", "create get list watch patch delete"},
                      {kCore, "configmaps", "create get list watch patch delete"},
                      {kNetworking, "networkpolicies", "create patch"}};

/// To read what the egress proxy has let through, in its own namespace.
const Rights kEgressLog{{kCore, "pods", "list watch"}, {kCore, "pods/log", "get"}, {kCore, "configmaps", "list watch"}};

/// To keep secrets there, and to tell of them in the namespace of the sandboxes.
const Rights kEgressSecrets{{kCore, "secrets", "create get list patch delete"}};
const Rights kEgressNotices{{kCore, "configmaps", "create get patch delete"}};

// --- driver `claim` ---

const Rights kClaimMake{{kExtensions, "sandboxclaims", "create get list watch delete"},
                        {kExtensions, "sandboxtemplates", "get"},
                        {kExtensions, "sandboxwarmpools", "get list"},
                        {kAgents, "sandboxes", "create get list watch delete"},
                        {kNetworking, "networkpolicies", "create get list watch patch delete"},
                        {kCore, "pods", "get list watch"}};
/// For a dry run.
const Rights kClaimTrial{{kExtensions, "sandboxclaims", "create"},
                         {kExtensions, "sandboxtemplates", "create"},
                         {kExtensions, "sandboxwarmpools", "get list"},
                         {kAgents, "sandboxes", "create"},
                         {kNetworking, "networkpolicies", "create"}};
const Rights kClaimFind{{kExtensions, "sandboxclaims", "get"}, {kAgents, "sandboxes", "get"}, {kCore, "pods", "get"}};
const Rights kClaimList{
    {kExtensions, "sandboxclaims", "list"}, {kAgents, "sandboxes", "list"}, {kCore, "pods", "list"}};
const Rights kClaimChange{{kExtensions, "sandboxclaims", "get patch"},
                          {kAgents, "sandboxes", "get list watch patch"},
                          {kCore, "pods", "get list watch"}};
const Rights kClaimRemove{{kExtensions, "sandboxclaims", "get list watch delete"},
                          {kAgents, "sandboxes", "get list watch delete"},
                          {kNetworking, "networkpolicies", "get list watch delete"},
                          {kCore, "pods", "get list watch"}};
const Rights kClaimPool{{kExtensions, "sandboxtemplates", "create get list watch patch delete"},
                        {kExtensions, "sandboxwarmpools", "create get list watch patch delete"},
                        {kExtensions, "sandboxclaims", "list"},
                        {kAgents, "sandboxes", "list"},
                        {kNetworking, "networkpolicies", "create"}};

// --- doctor, and namespaces of sandboxes ---

const Rights kExamine{{kCore, "namespaces", "get"}, {kCore, "resourcequotas", "list"}};
/// To check by a dry run whether a Pod would be accepted.
const Rights kTrial{{kCore, "pods", "create"}};
/// To read the options that a pool decides for its sandboxes.
const Rights kPoolLook{{kCore, "configmaps", "get"}};
const Rights kNamespaces{{kCore, "namespaces", "create get list watch delete"},
                         {kCore, "resourcequotas", "create get"}};

struct Row {
  std::string_view command;
  std::vector<const Rights*> pod;
  std::vector<const Rights*> claim;
  bool makes_namespaces = false;           ///< creates or removes namespaces, if each sandbox has its own
  bool is_operators = false;               ///< not needed by users of sandboxes: in a Role only if it is named
  std::vector<const Rights*> home = {};    ///< rights in the namespace of the process, not of the sandboxes
  std::vector<const Rights*> egress = {};  ///< rights in the namespace of the egress proxy
};

std::vector<Row> create_table() {
  const std::vector<const Rights*> pod_use{&kPodFind, &kKey, &kReach};
  const std::vector<const Rights*> claim_use{&kClaimFind, &kKey, &kReach};
  const auto with = [](std::vector<const Rights*> some, std::initializer_list<const Rights*> more) {
    some.insert(some.end(), more);
    return some;
  };
  const std::vector<const Rights*> pod_run{&kHome, &kPodFind, &kPodMake, &kPodPolicy, &kExplain, &kNewKey, &kReach};
  const std::vector<const Rights*> claim_run{&kHome, &kClaimMake, &kClaimChange, &kExplain, &kNewKey, &kReach};
  const std::vector<const Rights*> server{&kHome, &kExplain, &kNewKey, &kTunnel};
  return {
      {"run", pod_run, claim_run, true},
      {"mcp", with(pod_run, {&kProxyDelete}), with(claim_run, {&kProxyDelete}), true},
      {"up", with(pod_run, {&kPodRecord, &kPodAround, &kPodPool}), claim_run, true},
      {"ps", {&kPodList}, {&kClaimList}},
      {"describe", with(pod_use, {&kEvents}), with(claim_use, {&kEvents})},
      {"stop", {&kPodStop}, {&kClaimChange}},
      {"start",
       {&kPodStop, &kPodMake, &kPodAround, &kExplain, &kNewKey, &kReach},
       {&kClaimChange, &kExplain, &kKey, &kReach}},
      {"extend", with(pod_use, {&kPodExtend}), with(claim_use, {&kClaimChange})},
      {"network", {&kPodNetwork}, {&kNone}},
      {"rm", {&kPodRemove}, {&kClaimRemove}, true},
      {"gc", {&kPodRemove, &kKey, &kReach}, {&kClaimRemove, &kKey, &kReach}, true},
      {"pool", {&kPodPool, &kHome, &kExplain, &kNewKey}, {&kClaimPool, &kHome, &kExplain, &kNewKey}},
      {"console",
       with(pod_use, {&kPodList, &kPodStop, &kPodMake, &kPodAround, &kPodExtend, &kPodRemove, &kExplain, &kNewKey}),
       with(claim_use, {&kClaimList, &kClaimChange, &kClaimRemove, &kExplain})},
      {"exec", pod_use, claim_use},
      {"shell", pod_use, claim_use},
      {"attach", pod_use, claim_use},
      {"logs", with(pod_use, {&kLog}), with(claim_use, {&kLog})},
      {"top", pod_use, claim_use},
      {"kill", pod_use, claim_use},
      {"tool", pod_use, claim_use},
      {"cp", with(pod_use, {&kProxyPut}), with(claim_use, {&kProxyPut})},
      {"files", with(pod_use, {&kProxyPut, &kProxyPatch, &kProxyDelete}),
       with(claim_use, {&kProxyPut, &kProxyPatch, &kProxyDelete})},
      {"changes", {&kNone}, {&kNone}},
      {"egress", with({&kPodFind}, {&kEgressLog}), {&kNone}},
      {.command = "secret",
       .pod = {&kEgressNotices},
       .claim = {&kNone},
       .is_operators = true,
       .egress = {&kEgressSecrets}},
      {"apply", {&kNone}, {&kNone}},
      {"session", with(pod_use, {&kProxyDelete}), with(claim_use, {&kProxyDelete})},
      {"forward", pod_use, claim_use},
      {"token", pod_use, claim_use},
      {"manifest", {&kHome, &kTrial, &kPoolLook, &kNewKey}, {&kHome, &kClaimTrial, &kNewKey}},
      {"doctor", with(pod_use, {&kPodList, &kExamine}), with(claim_use, {&kClaimList, &kExamine})},
      {"rbac", {&kNone}, {&kNone}},
      {.command = "key",
       .pod = {&kKeyChange, &kApiKeysChange},
       .claim = {&kKeyChange, &kApiKeysChange},
       .is_operators = true},
      {.command = "serve",
       .pod = with(server, {&kPodFind, &kPodMake, &kPodPolicy, &kPodRecord, &kPodAround, &kPodPool, &kPodList,
                            &kPodStop, &kPodExtend, &kPodRemove}),
       .claim = with(server, {&kClaimFind, &kClaimMake, &kClaimList, &kClaimChange, &kClaimRemove}),
       .makes_namespaces = true,
       .is_operators = true,
       .home = {&kApiKeys}},
      {"version", pod_use, claim_use},
      {"completion", {&kNone}, {&kNone}},
      {"licenses", {&kNone}, {&kNone}},
  };
}

const std::vector<Row>& table() {
  static const std::vector<Row> rows = create_table();
  return rows;
}

/// The verbs of each object.
using Merged = std::map<std::tuple<std::string, std::string, std::string>, std::set<std::string>>;

void add(Merged& merged, std::span<const Right> rights, const std::string& prefix) {
  for (const Right& right : rights) {
    const std::string name = right.name.empty() ? "" : prefix + std::string{right.name};
    auto& verbs = merged[{std::string{right.group}, std::string{right.resource}, name}];
    std::string_view rest = right.verbs;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find(' '), rest.size());
      verbs.emplace(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
}

json role_rule(const ApiRule& rule) {
  json value{{"apiGroups", {rule.group}}, {"resources", {rule.resource}}, {"verbs", rule.verbs}};
  if (!rule.name.empty()) value["resourceNames"] = {rule.name};
  return value;
}

constexpr std::string_view kRbacGroup = "rbac.authorization.k8s.io";

}  // namespace

std::vector<std::string_view> commands_with_rights() {
  std::vector<std::string_view> names;
  for (const Row& row : table()) names.push_back(row.command);
  return names;
}

Result<std::vector<ApiRule>> rules_of(const RightsOf& wanted) {
  Merged merged;
  for (const std::string& command : wanted.commands) {
    if (std::ranges::count(table(), command, &Row::command) > 0) continue;
    return fail(Errc::invalid_field, "there is no command \"" + command + "\" (give the first word of one)");
  }
  for (const Row& row : table()) {
    const bool is_named = std::ranges::count(wanted.commands, row.command) > 0;
    if (!is_named && (!wanted.commands.empty() || row.is_operators)) continue;
    if (wanted.place == RightsIn::egress) {
      for (const Rights* rights : row.egress) add(merged, *rights, wanted.name_prefix);
      continue;
    }
    if (wanted.place != RightsIn::tenant) {
      for (const Rights* rights : row.home) add(merged, *rights, wanted.name_prefix);
    }
    if (wanted.place == RightsIn::home) continue;
    for (const Rights* rights : wanted.driver == ClusterDriver::pod ? row.pod : row.claim)
      add(merged, *rights, wanted.name_prefix);
    if (wanted.namespace_per_sandbox && row.makes_namespaces) add(merged, kNamespaces, {});
    const bool reaches = std::ranges::count(row.pod, &kReach) + std::ranges::count(row.pod, &kTunnel) > 0;
    if (reaches && !wanted.gateway.empty()) {
      merged[{std::string{kube::kGateways.group}, std::string{kube::kGateways.plural}, wanted.gateway}].insert("get");
    }
  }
  std::vector<ApiRule> rules;
  for (auto& [object, verbs] : merged) {
    const auto& [group, resource, name] = object;
    rules.push_back({.group = group, .resource = resource, .name = name, .verbs = std::move(verbs)});
  }
  return rules;
}

std::vector<json> role_objects(const std::vector<ApiRule>& rules, const RoleOptions& options) {
  const std::string prefix = options.all_namespaces ? "Cluster" : "";
  const std::string version = std::string{kRbacGroup} + "/v1";
  json metadata{{"name", options.name}, {"labels", {{"app.kubernetes.io/name", "skiff"}}}};
  json role{{"apiVersion", version}, {"kind", prefix + "Role"}, {"metadata", metadata}, {"rules", json::array()}};
  for (const ApiRule& rule : rules) role["rules"].push_back(role_rule(rule));
  if (!options.namespace_name.empty() && !options.all_namespaces)
    role["metadata"]["namespace"] = options.namespace_name;
  if (options.service_account.empty()) return {std::move(role)};

  const std::string home = options.namespace_name.empty() ? "default" : options.namespace_name;
  const std::string account_home = options.account_namespace.empty() ? home : options.account_namespace;
  json account{{"apiVersion", "v1"}, {"kind", "ServiceAccount"}, {"metadata", metadata}};
  account["metadata"]["name"] = options.service_account;
  account["metadata"]["namespace"] = account_home;
  json binding{
      {"apiVersion", version},
      {"kind", prefix + "RoleBinding"},
      {"metadata", role["metadata"]},
      {"roleRef", {{"apiGroup", kRbacGroup}, {"kind", prefix + "Role"}, {"name", options.name}}},
      {"subjects",
       json::array({{{"kind", "ServiceAccount"}, {"name", options.service_account}, {"namespace", account_home}}})}};
  if (!options.all_namespaces) {
    role["metadata"]["namespace"] = home;
    binding["metadata"]["namespace"] = home;
  }
  if (account_home != home) return {std::move(role), std::move(binding)};
  return {std::move(account), std::move(role), std::move(binding)};
}

std::string with_right_hint(const Error& error, std::string_view command) {
  // Look for the text of the authorizer, which admission checks and quotas do not write: `User "a" cannot list resource
  // "pods" in ...`. It may be part of another message, so the error code does not help.
  const std::size_t at = error.message.find("\" cannot ");
  if (at == std::string::npos || error.message.find(" resource \"", at) == std::string::npos) return error.message;
  return error.message + "; `skiff rbac " + std::string{command.substr(0, command.find(' '))} +
         "` prints the Role that allows it";
}

}  // namespace skiff::container
