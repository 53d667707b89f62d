#include "container/drivers/pods/egress/egress.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "container/agent/egress_token.hpp"
#include "container/cluster/labels.hpp"
#include "container/drivers/pods/egress/log_follower.hpp"
#include "container/drivers/pods/egress/secrets.hpp"
#include "container/egress/policy.hpp"
#include "container/kube/pod_log.hpp"

namespace skiff::container {
namespace {

using kube::Object;
using nlohmann::json;

constexpr int kMostPuts = 20;
/// Most bytes of each proxy's log that are read.
constexpr std::uint64_t kMostLog = std::uint64_t{8} << 20U;

std::unexpected<Error> not_installed(const Cluster& cluster, const std::string& why) {
  return fail(Errc::sandbox_failed,
              "egress by name: " + why + ": skiff egress install -n " + cluster.namespace_name() + " --image IMAGE",
              std::string{kEgressNotInstalled});
}

Result<egress::Policy> within_limit(Result<egress::Policy> policy) {
  if (policy && json(policy->rules()).dump().size() > kLargestEgressPolicy) {
    return fail(Errc::invalid_field, "--egress: the rules have more than 16 KiB", "--egress");
  }
  return policy;
}

/// What would open the fence, or what the fence does not let in.
Result<> check_beside_egress(const SandboxSpec& spec) {
  const auto refuse = [](const std::string& flag, const std::string& why) {
    return fail(Errc::invalid_field, "--egress and " + flag + ": " + why, "--egress");
  };
  const PodOptions& pod = spec.pod;
  if (pod.network != "open" || spec.names_network) {
    return refuse("--network", "--egress names all that the sandbox may reach");
  }
  const std::string of_agent =
      "the fence of egress by name lets in connections to the agent and its dialects alone; skiff forward reaches "
      "other ports";
  if (!pod.allow.empty()) return refuse("--allow", of_agent);
  if (!pod.ports.empty()) return refuse("--port", of_agent);
  if (pod.agent_port != kAgentPort) return refuse("--agent-port", of_agent);
  if (pod.namespace_per_sandbox) return refuse("--namespace-per-sandbox", "the proxy is that of one namespace");
  return {};
}

/// The ConfigMap that `skiff egress install` leaves in the namespace.
Task<Result<Object>> find_notice(Cluster* cluster) {
  auto found = co_await cluster->client().get(kube::kConfigMaps, cluster->namespace_name(), std::string{kEgressName});
  if (!found && !found.error().not_found()) co_return std::unexpected{std::move(found.error())};
  if (!found) co_return not_installed(*cluster, "no proxy is installed for this namespace");
  if (found->text({"data", kEgressProxyField}).empty() || found->text({"data", kEgressCanaryField}).empty()) {
    co_return not_installed(*cluster, "the proxy's address is not noted");
  }
  co_return std::move(*found);
}

/// The lines of a log that are about this sandbox.
std::string lines_about(std::string_view text, std::string_view id) {
  std::string lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    if (is_about(line, id)) lines.append(line).append(1, '\n');
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

/// The rules by which the proxy judges: those on the Pod; those of the record for a sandbox without one.
EgressState rules_in_force(const KnownPod& known) {
  EgressState recorded{.rules = known.record->spec.egress};
  if (!known.pod) return recorded;
  const auto on_pod = egress::Policy::parse_json(known.pod->annotation(kEgressAnnotation));
  return on_pod ? EgressState{.rules = on_pod->rules()} : EgressState{.rules = recorded.rules, .is_unreadable = true};
}

/// Puts the rules of the record on the Pod. The Pod is read before the record, and must not have changed when it is
/// written. So of several who do this at the same time, the last one has the newest record.
Task<Result<>> put_rules(Cluster* cluster, KnownPod known) {
  kube::Client& client = cluster->client();
  const Object& old = *known.config_map;
  for (int tries = 0; tries < kMostPuts; ++tries) {
    // A `start` may have created the Pod since it was read.
    SKIFF_CO_TRY(const auto pod,
                 co_await find_pod(cluster, known.record->namespace_name, known.record->pod, known.record->id));
    if (!pod) co_return Result<>{};
    SKIFF_CO_TRY(const auto now, co_await client.get(kube::kConfigMaps, old.namespace_name(), old.name()));
    SKIFF_CO_TRY(const auto record, read_record(now));
    const json patch{{"metadata",
                      {{"resourceVersion", pod->resource_version()},
                       {"annotations", {{kEgressAnnotation, json(record.spec.egress).dump()}}}}}};
    auto changed =
        co_await client.patch(kube::kPods, pod->namespace_name(), pod->name(), kube::PatchKind::merge, patch);
    if (changed || changed.error().not_found()) co_return Result<>{};
    if (!changed.error().conflict()) co_return std::unexpected{std::move(changed.error())};
  }
  co_return fail(Errc::timeout, "its Pod is being changed by others repeatedly");
}

Result<> check_has_egress(const KnownPod& known) {
  if (known.damage) return std::unexpected{*known.damage};
  if (known.record && known.record->spec.has_egress()) return {};
  return fail(Errc::invalid_field, "it has no egress by name: skiff up --egress HOST creates a sandbox that has",
              "name");
}

}  // namespace

Task<Result<>> check_egress(Cluster* cluster, SandboxSpec* spec) {
  if (!spec->has_egress()) co_return Result<>{};
  SKIFF_CO_TRY_VOID(check_beside_egress(*spec));
  SKIFF_CO_TRY(auto trust, co_await read_egress_trust(cluster, spec->egress_secrets));
  std::ranges::move(trust.rules, std::back_inserter(spec->egress));
  // A variable that the user has set stays.
  spec->env.merge(trust.variables);
  SKIFF_CO_TRY(const auto policy, within_limit(egress::Policy::parse(spec->egress)));
  spec->egress = policy.rules();
  SKIFF_CO_TRY_VOID(co_await find_notice(cluster));
  co_return Result<>{};
}

Task<bool> has_egress_proxy(Cluster* cluster) {
  co_return (co_await find_notice(cluster)).has_value();
}

Task<Result<EgressAccess>> egress_access(Cluster* cluster, SigningKey key, std::string sandbox_id,
                                         std::vector<std::string> secrets) {
  SKIFF_CO_TRY(const auto notice, co_await find_notice(cluster));
  if (!key.is_known_to(notice.text({"data", kEgressKeysField}))) {
    co_return not_installed(*cluster, "the proxy does not know the key that signs now");
  }
  SKIFF_CO_TRY(auto token, sign_egress_token(key, sandbox_id, wall_now()));
  SKIFF_CO_TRY(auto trust, co_await read_egress_trust(cluster, std::move(secrets)));
  co_return EgressAccess{.proxy = notice.text({"data", kEgressProxyField}),
                         .canary = notice.text({"data", kEgressCanaryField}),
                         .token = std::move(token),
                         .secrets = std::move(trust.annotation),
                         .ca_pem = std::move(trust.ca_pem)};
}

Task<Result<EgressState>> change_egress(Cluster* cluster, KnownPod known, EgressChange change) {
  SKIFF_CO_TRY_VOID(check_has_egress(known));
  if (change.is_empty()) {
    EgressState now = rules_in_force(known);
    SKIFF_CO_TRY(now.secrets, co_await describe_egress_secrets(cluster, known.record->spec.egress_secrets));
    co_return now;
  }
  Result<egress::Policy> policy;
  auto now = co_await change_spec(cluster, std::move(known), [&](PodRecord& record) {
    policy = within_limit(egress::Policy::after(record.spec.egress, change.rules, change.added, change.removed));
    if (!policy) return;
    record.spec.egress = policy->rules();
    record.spec.is_fenced = true;
  });
  if (!now) co_return std::unexpected{std::move(now.error())};
  if (!policy) co_return std::unexpected{std::move(policy.error())};
  if (auto put = co_await put_rules(cluster, std::move(*now)); !put) {
    put.error().message += " (the record is changed; the same command again changes the Pod)";
    co_return std::unexpected{std::move(put.error())};
  }
  co_return EgressState{.rules = policy->rules()};
}

Task<Result<std::string>> read_egress_log(Cluster* cluster, KnownPod known) {
  SKIFF_CO_TRY_VOID(check_has_egress(known));
  kube::Client& client = cluster->client();
  const std::string home = egress_namespace(known.record->namespace_name);
  SKIFF_CO_TRY(const auto proxies,
               co_await client.list(kube::kPods, home,
                                    {.label_selector = "app.kubernetes.io/name=" + std::string{kEgressName}}));
  std::string lines;
  for (const Object& proxy : proxies.items) {
    auto text = co_await kube::read_log(&client, home, proxy.name(), {.limit_bytes = kMostLog});
    // A Pod that is starting or has gone has none.
    if (text) lines += lines_about(*text, known.record->id);
  }
  co_return lines;
}

Task<Result<>> follow_egress_log(Cluster* cluster, KnownPod known,
                                 std::function<Result<>(std::string_view lines)> take) {
  SKIFF_CO_TRY_VOID(check_has_egress(known));
  LogFollower follower{cluster, known, std::move(take)};
  co_return co_await follower.run();
}

}  // namespace skiff::container
