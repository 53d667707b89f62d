#include "container/drivers/pods/network.hpp"

#include <utility>

#include "container/cluster/labels.hpp"
#include "container/cluster/pod/network_policies.hpp"
#include "container/cluster/pod/pod_manifest.hpp"
#include "container/cluster/remove.hpp"
#include "container/drivers/pods/create.hpp"

namespace skiff::container {
namespace {

using nlohmann::json;

/// Changes the objects to what the record says now; `changed` lists what has been changed so far.
Task<Result<>> change_objects(Cluster* cluster, const KnownPod* known, std::string* changed) {
  const PodRecord& record = *known->record;
  const std::string& where = record.namespace_name;
  const ManifestContext context{
      .namespace_name = where, .prefix = cluster->options().name_prefix, .sandbox_id = record.id};
  NetworkPlan plan = plan_network(record.spec, context.prefix);
  SKIFF_CO_TRY_VOID(co_await apply_network(cluster, record.spec, context, &*known->config_map));
  *changed += ", its NetworkPolicy";
  // A `start` may have created the Pod since it was read.
  SKIFF_CO_TRY(auto now, co_await find_sandbox(cluster, record.spec.name));
  if (now.pod && now.pod->label(labels::kSandbox) == record.id) {
    json label{{labels::kNetwork, plan.pod_label.empty() ? json{} : json(plan.pod_label)}};
    json patch{{"metadata", {{"labels", std::move(label)}}}};
    SKIFF_CO_TRY_VOID(co_await cluster->client().patch(kube::kPods, where, now.pod->name(), kube::PatchKind::merge,
                                                       std::move(patch)));
    *changed += ", the label of its Pod";
  }
  if (!plan.exposure.empty()) {
    const json patch{{"spec", std::move(plan.exposure)}};
    auto exposed = co_await cluster->client().patch(kube::kServices, where, service_name(known->config_map->name()),
                                                    kube::PatchKind::merge, patch);
    // A stopped sandbox has no Service: `start` creates it from the record.
    if (!exposed && !exposed.error().not_found()) co_return std::unexpected{std::move(exposed.error())};
    *changed += ", its Service";
  }
  // A policy that is no longer wanted goes last, so that the network is never open in between.
  if (plan.unwanted_policy.empty()) co_return Result<>{};
  co_return co_await remove_object(cluster, kube::kNetworkPolicies, where, std::move(plan.unwanted_policy), record.id,
                                   {});
}

}  // namespace

NetworkPlan plan_network(const SandboxSpec& spec, const std::string& prefix) {
  std::string label = network_label(spec.pod);
  const bool has_own = label == kOwnPolicy;
  return {.pod_label = std::move(label),
          .exposure = service_exposure(spec.pod),
          .unwanted_policy = has_own ? std::string{} : own_policy_name(spec, prefix)};
}

Task<Result<PodOptions>> change_network(Cluster* cluster, KnownPod known, std::string network,
                                        std::vector<std::string> allow) {
  const auto change = [&](PodOptions& options) {
    if (!network.empty()) options.network = network;
    if (!allow.empty()) options.allow = allow;
    std::erase_if(options.allow, [](const std::string& cidr) { return cidr == "0.0.0.0/0" || cidr == "::/0"; });
  };
  PodOptions wanted = known.record->spec.pod;
  change(wanted);
  SKIFF_CO_TRY_VOID(check_pod_options(wanted));
  auto now = co_await change_spec(cluster, std::move(known), [&](PodRecord& record) { change(record.spec.pod); });
  if (!now) co_return std::unexpected{std::move(now.error())};
  std::string changed = "the record";
  if (auto done = co_await change_objects(cluster, &*now, &changed); !done) {
    done.error().message += " (changed before that: " + changed + "; the same command again changes the rest)";
    co_return std::unexpected{std::move(done.error())};
  }
  co_return std::move(now->record->spec.pod);
}

}  // namespace skiff::container
