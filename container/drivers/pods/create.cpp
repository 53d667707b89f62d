#include "container/drivers/pods/create.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/id.hpp"
#include "container/cluster/labels.hpp"
#include "container/cluster/pod/creation_error.hpp"
#include "container/cluster/pod/creation_mark.hpp"
#include "container/cluster/pod/network_policies.hpp"
#include "container/cluster/pod/pod_wait.hpp"
#include "container/drivers/pods/egress/egress.hpp"
#include "container/drivers/pods/remove.hpp"

namespace skiff::container {
namespace {

using kube::Object;
using nlohmann::json;
using std::chrono::steady_clock;

constexpr std::size_t kLongestObjectName = 63;

std::string own_namespace(std::string_view prefix, std::string_view name) {
  // The random end takes nine of the 63 characters.
  return create_name(std::string{prefix}.append(name).substr(0, 50) + "-");
}

/// Creates an object, or returns the one that another `start` of the same sandbox has created, unless it is being
/// deleted.
Task<Result<Object>> make(Cluster* cluster, kube::Resource resource, Object object) {
  const std::string namespace_name = object.namespace_name();
  const std::string name = object.name();
  const std::string id = object.label(labels::kSandbox);
  auto made = co_await cluster->client().create(resource, std::move(object));
  if (made) {
    cluster->note(resource, *made);
    co_return std::move(*made);
  }
  if (made.error().may_have_happened || made.error().already_exists()) {
    auto found = co_await cluster->client().get(resource, namespace_name, name);
    if (found && found->label(labels::kSandbox) == id && !found->is_being_deleted()) co_return std::move(*found);
  }
  co_return std::unexpected{creation_error(std::move(made.error()))};
}

/// Creates all objects except the Pod, and returns the Service. The objects that limit the Pod exist before it.
Task<Result<std::optional<Object>>> create_surroundings(Cluster* cluster, const PodRecord* record,
                                                        const Object* config_map, const ManifestContext* context) {
  const bool is_owned = record->namespace_name == config_map->namespace_name();
  const auto own = [&](Object& object) {
    if (is_owned) object.json["metadata"]["ownerReferences"] = json::array({config_map->owner_reference()});
  };
  std::vector<std::pair<kube::Resource, Object>> objects;
  SKIFF_CO_TRY(auto quota, create_quota(record->spec, *context));
  if (quota) objects.emplace_back(kube::kResourceQuotas, std::move(*quota));
  SKIFF_CO_TRY(auto claims, create_volume_claims(record->spec, *context));
  for (Object& claim : claims) objects.emplace_back(kube::kVolumeClaims, std::move(claim));
  if (auto service = create_service(record->spec, *context)) objects.emplace_back(kube::kServices, std::move(*service));
  std::optional<Object> service;
  for (auto& [resource, object] : objects) {
    own(object);
    SKIFF_CO_TRY(auto made, co_await make(cluster, resource, std::move(object)));
    if (resource.plural == kube::kServices.plural) service = std::move(made);
  }
  co_return service;
}

}  // namespace

Task<Result<ManifestContext>> prepare_sandbox(Cluster* cluster, SandboxSpec* spec) {
  SKIFF_CO_TRY_VOID(check_name(spec->name));
  SKIFF_CO_TRY_VOID(check_size(*spec));
  SKIFF_CO_TRY_VOID(labels::check_user_labels(spec->labels));
  SKIFF_CO_TRY_VOID(check_pod_options(spec->pod));
  if (!spec->pod.template_name.empty()) {
    co_return fail(Errc::invalid_field, "--template is for --driver claim", "--template");
  }
  SKIFF_CO_TRY_VOID(co_await check_egress(cluster, spec));
  const std::string object_name = cluster->object_name(spec->name);
  if (service_name(object_name).size() > kLongestObjectName) {
    co_return fail(Errc::invalid_field, "\"" + object_name + "\" is too long for a name in Kubernetes",
                   "--name-prefix");
  }
  SKIFF_CO_TRY_VOID(cluster->fill_in_images(*spec));

  ManifestContext context{
      .namespace_name = cluster->namespace_name(), .prefix = cluster->options().name_prefix, .sandbox_id = new_id("s")};
  // The Pods of a pool are there. A namespace that is not created yet is assumed to be like this one.
  if (spec->pod.pool.empty() || spec->pod.namespace_per_sandbox) {
    context.assigns_ids = co_await cluster->assigns_ids();
  }
  if (spec->pod.namespace_per_sandbox) {
    context.namespace_name = own_namespace(context.prefix, spec->name);
    co_return context;
  }
  if (!spec->pod.pool.empty()) co_return context;  // the cluster has accepted such Pods already
  SKIFF_CO_TRY(auto pod, create_pod(*spec, context));
  auto taken = co_await cluster->client().create(kube::kPods, std::move(pod), {.dry_run = true});
  if (taken) co_return context;
  // The creation of the record reports a name that is in use.
  const bool says_nothing =
      taken.error().already_exists() || taken.error().status.message.contains("does not support dry run");
  if (!says_nothing) co_return std::unexpected{creation_error(std::move(taken.error()))};
  co_return context;
}

Task<Result<>> apply_network(Cluster* cluster, SandboxSpec spec, ManifestContext context, const Object* config_map) {
  SKIFF_CO_TRY(auto policies, create_network_policies(spec, context));
  for (Object& policy : policies) {
    const bool is_own = !policy.label(labels::kSandbox).empty();
    if (is_own && config_map != nullptr && config_map->namespace_name() == context.namespace_name) {
      policy.json["metadata"]["ownerReferences"] = json::array({config_map->owner_reference()});
    }
    auto applied = co_await cluster->client().apply(kube::kNetworkPolicies, std::move(policy), {.force = true});
    if (!applied) co_return std::unexpected{creation_error(std::move(applied.error()))};
  }
  co_return Result<>{};
}

Task<Result<KnownPod>> create_pod_ready(Cluster* cluster, PodRecord record, std::optional<Object> config_map,
                                        ManifestContext context, SteadyTime deadline, Progress progress) {
  progress(Phase::scheduling, "");
  SKIFF_CO_TRY(auto key, co_await cluster->signing_key(true));
  SKIFF_CO_TRY(auto public_key, key.public_pem());
  context.public_key = std::move(public_key);
  if (record.spec.has_egress()) {
    SKIFF_CO_TRY(context.egress,
                 co_await egress_access(cluster, std::move(key), record.id, record.spec.egress_secrets));
  }
  SKIFF_CO_TRY(auto pod, create_pod(record.spec, context));
  SKIFF_CO_TRY_VOID(co_await apply_network(cluster, record.spec, context, config_map ? &*config_map : nullptr));
  std::optional<Object> service;
  if (config_map) {
    SKIFF_CO_TRY(service, co_await create_surroundings(cluster, &record, &*config_map, &context));
    if (record.namespace_name == config_map->namespace_name()) {
      pod.json["metadata"]["ownerReferences"] = json::array({config_map->owner_reference()});
    }
  } else if (record.expires_at) {
    pod.json["metadata"]["annotations"][labels::kExpiresAt] = *record.expires_at;
  }
  if (!record.start.empty()) mark_creation(pod, record.start);
  SKIFF_CO_TRY(auto news, co_await cluster->pods(pod.namespace_name()).follow(pod.name()));
  SKIFF_CO_TRY(auto made, co_await make(cluster, kube::kPods, std::move(pod)));
  PodWait wait{.namespace_name = made.namespace_name(), .name = made.name(), .now = {}, .deadline = deadline};
  wait.now = std::move(made);
  if (record.spec.pod.inject) wait.agent_image = record.spec.pod.agent_image;
  auto ready = co_await wait_until_ready(&cluster->client(), &news, std::move(wait), progress);
  if (!ready && record.spec.has_egress() && failure_reason(ready.error()) == FailureReason::not_ready) {
    ready.error().message +=
        "; with egress by name it takes commands once the cluster enforces its NetworkPolicy: skiff doctor --egress";
  }
  if (!ready) co_return std::unexpected{std::move(ready.error())};
  KnownPod known{
      .config_map = std::move(config_map), .record = {}, .pod = std::move(*ready), .service = std::move(service)};
  if (known.config_map) known.record = std::move(record);
  co_return known;
}

/// Takes a Pod from the pool; nullopt if none is ready.
Task<Result<std::optional<KnownPod>>> take_warm(Cluster* cluster, PodPools* pools, PodRecord record, Object config_map,
                                                ManifestContext context) {
  // The policy must exist before the Pod gets its settings, so that they reach only permitted addresses.
  auto limit = [&](std::string id) {
    ManifestContext its = context;
    its.sandbox_id = std::move(id);
    return apply_network(cluster, record.spec, std::move(its), &config_map);
  };
  SKIFF_CO_TRY(auto taken, co_await pools->take(record.spec, config_map, std::move(limit)));
  if (!taken) co_return std::nullopt;
  // The Pod keeps the id and the name that it had in the pool.
  record.id = context.sandbox_id = taken->id;
  record.pod = taken->pod.name();
  SKIFF_CO_TRY(auto service, co_await create_surroundings(cluster, &record, &config_map, &context));
  KnownPod known{.config_map = std::move(config_map),
                 .record = std::move(record),
                 .pod = std::move(taken->pod),
                 .service = std::move(service),
                 .is_bound = true};
  co_return known;
}

Task<Result<KnownPod>> finish_taken(Cluster* cluster, PodPools* pools, PodRecord record, Object config_map,
                                    Object pod) {
  record.id = labels::get(pod, labels::kSandbox);
  record.pod = pod.name();
  ManifestContext context{
      .namespace_name = record.namespace_name, .prefix = cluster->options().name_prefix, .sandbox_id = record.id};
  SKIFF_CO_TRY_VOID(co_await apply_network(cluster, record.spec, context, &config_map));
  SKIFF_CO_TRY_VOID(co_await pools->bind(pod, record.spec));
  SKIFF_CO_TRY(auto service, co_await create_surroundings(cluster, &record, &config_map, &context));
  co_return KnownPod{.config_map = std::move(config_map),
                     .record = std::move(record),
                     .pod = std::move(pod),
                     .service = std::move(service),
                     .is_bound = true};
}

Task<Result<KnownPod>> create_sandbox(Cluster* cluster, PodPools* pools, PodRecord record, bool is_one_shot,
                                      ManifestContext context, Progress progress) {
  const SteadyTime deadline = steady_clock::now() + record.spec.wait;
  std::optional<Object> config_map;
  if (!is_one_shot) {
    Object object = create_record(record, cluster->namespace_name(), record.pod);
    auto recorded = co_await make(cluster, kube::kConfigMaps, std::move(object));
    if (!recorded && recorded.error().code == Errc::already_exists) {
      co_return fail(Errc::sandbox_conflict, "there is a sandbox \"" + record.spec.name + "\" already", "name");
    }
    if (!recorded) co_return std::unexpected{std::move(recorded.error())};
    config_map = std::move(*recorded);
  }
  if (record.spec.pod.namespace_per_sandbox) {
    Object home = create_namespace(record.spec, context);
    if (config_map) {
      home.json["metadata"]["annotations"][kRecordOf] = config_map->namespace_name() + "/" + config_map->name();
    }
    SKIFF_CO_TRY_VOID(co_await make(cluster, kube::kNamespaces, std::move(home)));
  }
  std::unique_ptr<PodStarts::Permit> starting;
  if (config_map && !record.spec.pod.pool.empty()) {
    SKIFF_CO_TRY(auto warm, co_await take_warm(cluster, pools, record, *config_map, context));
    if (warm) co_return std::move(*warm);
    starting = pools->cold_start(record.pod);
    progress(Phase::scheduling, "pool " + record.spec.pod.pool + " has no ready sandbox, a cold one is made");
    context.assigns_ids = co_await pools->assigns_ids(record.spec.pod.pool);
  }
  co_return co_await create_pod_ready(cluster, std::move(record), std::move(config_map), std::move(context), deadline,
                                      std::move(progress));
}

}  // namespace skiff::container
