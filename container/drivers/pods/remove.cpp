#include "container/drivers/pods/remove.hpp"

#include <chrono>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/async/in_parallel.hpp"
#include "container/cluster/labels.hpp"
#include "container/cluster/pod/network_policies.hpp"
#include "container/cluster/pod/pod_manifest.hpp"

namespace skiff::container {
namespace {

using kube::Object;

/// The record; if it cannot be read, assume that its Pod has its name.
PodRecord record_of(const KnownPod& known) {
  if (known.record) return *known.record;
  PodRecord record;
  record.id = known.config_map->text({"data", "id"});
  if (record.id.empty()) record.id = known.config_map->label(labels::kSandbox);
  record.namespace_name = known.config_map->namespace_name();
  record.pod = known.config_map->name();
  return record;
}

/// A Pod's processes may run on for a moment after it is deleted without a grace period, but the fence around their
/// network goes with its address. So a sandbox with egress by name is gone when its node says that it has ended.
Removal within_the_fence(const KnownPod& known, Removal how) {
  const bool is_fenced = (known.record && known.record->spec.has_egress()) ||
                         (known.pod && known.pod->label(labels::kNetwork) == kEgressNetwork);
  if (!is_fenced || !how.force) return how;
  how.force = false;
  how.grace = std::chrono::seconds{1};
  return how;
}

struct PodRef {
  std::string namespace_name;
  std::string name;
  std::string id;
  std::string uid = {};  ///< empty: look it up
};

/// True if the record has the name that skiff gives to a sandbox's record, from which its objects' names follow. Any
/// user with access to ConfigMaps can write a record. If records could name other objects with their uids, such a user
/// could delete any object of the namespace with the rights of the caller.
bool is_named_as_made(const Cluster& cluster, const KnownPod& known, const PodRecord& record) {
  return known.config_map->name() == cluster.object_name(record.spec.name);
}

PodRef pod_of(const Cluster& cluster, const KnownPod& known) {
  if (!known.config_map) {
    const Object& pod = *known.pod;
    return {pod.namespace_name(), pod.name(), pod.label(labels::kSandbox), pod.uid()};
  }
  const PodRecord record = record_of(known);
  PodRef pod{record.namespace_name, record.pod, record.id};
  if (known.pod) pod.uid = known.pod->uid();
  // Take the uid from the record without reading the Pod. A Pod from a pool has another name, and is read.
  const bool has_its_name = is_named_as_made(cluster, known, record) && record.pod == known.config_map->name();
  if (!known.pod && !record.stopped && has_its_name) pod.uid = record.pod_uid;
  return pod;
}

/// Deletes the Pod. If other removals are under way, its end is followed by a shared watch, else by one of its own.
Task<Result<std::optional<Departure::Leaving>>> delete_pod(Cluster* cluster, PodRef pod, Removal how, bool is_alone) {
  std::optional<kube::SharedWatch::Reader> news;
  if (!is_alone && how.wait) {
    SKIFF_CO_TRY(auto followed, co_await cluster->ends(pod.namespace_name).follow(pod.name));
    news.emplace(std::move(followed));
  }
  // The record's uid of its Pod may be outdated: then read the Pod.
  for (bool is_sure = pod.uid.empty();; is_sure = true) {
    if (is_sure) {
      SKIFF_CO_TRY(auto found, co_await find_pod(cluster, pod.namespace_name, pod.name, pod.id));
      if (!found) co_return std::nullopt;
      pod.uid = found->uid();
    }
    GoneWait gone{.resource = kube::kPods,
                  .namespace_name = pod.namespace_name,
                  .name = pod.name,
                  .uid = pod.uid,
                  .limit = how.patience};
    auto deleted = co_await delete_this(cluster, std::move(gone), grace_of(how));
    if (!deleted && deleted.error().conflict() && !is_sure) continue;
    if (!deleted && deleted.error().conflict()) co_return std::nullopt;
    if (!deleted) co_return std::unexpected{std::move(deleted.error())};
    if (!*deleted) co_return std::nullopt;
    Departure::Leaving leaving{.wait = std::move(**deleted)};
    if (news) leaving.news.emplace(std::move(*news));
    co_return leaving;
  }
}

/// Deletes the Pod and adds it to `departure`.
Task<Result<>> take_pod(Cluster* cluster, PodRef pod, Removal how, bool is_alone, Departure* departure) {
  SKIFF_CO_TRY(auto leaving, co_await delete_pod(cluster, std::move(pod), std::move(how), is_alone));
  if (leaving) departure->leaving.push_back(std::move(*leaving));
  co_return Result<>{};
}

/// Deletes the Service by the uid in the record, before the Pod ends: otherwise the cluster would first update the
/// Service for the Pod's end. A Service that the record does not name, or that has another uid, is found by its label
/// at the end.
Task<Result<>> take_service(Cluster* cluster, const KnownPod* known, std::chrono::milliseconds patience,
                            Departure* departure) {
  const PodRecord record = record_of(*known);
  if (record.spec.pod.service == ServiceKind::none) co_return Result<>{};
  if (record.service_uid.empty() || !is_named_as_made(*cluster, *known, record)) {
    departure->rest.push_back(kube::kServices);
    co_return Result<>{};
  }
  GoneWait service{.resource = kube::kServices,
                   .namespace_name = record.namespace_name,
                   .name = service_name(known->config_map->name()),
                   .uid = record.service_uid,
                   .limit = patience};
  auto deleted = co_await delete_this(cluster, std::move(service), std::nullopt);
  if (!deleted && deleted.error().conflict()) {
    departure->rest.push_back(kube::kServices);
    co_return Result<>{};
  }
  if (!deleted) co_return std::unexpected{std::move(deleted.error())};
  if (*deleted) departure->leaving.push_back({.wait = std::move(**deleted)});
  co_return Result<>{};
}

/// Deletes the record. If another client has removed or replaced it, that is not an error.
Task<Result<>> take_record(Cluster* cluster, const Object* config_map, std::chrono::milliseconds patience,
                           Departure* departure) {
  GoneWait itself{.resource = kube::kConfigMaps,
                  .namespace_name = config_map->namespace_name(),
                  .name = config_map->name(),
                  .uid = config_map->uid(),
                  .limit = patience};
  auto deleted = co_await delete_this(cluster, std::move(itself), std::nullopt);
  if (!deleted && !deleted.error().conflict()) co_return std::unexpected{std::move(deleted.error())};
  if (deleted && *deleted) departure->leaving.push_back({.wait = std::move(**deleted)});
  co_return Result<>{};
}

/// Runs all parts at the same time, even if some fail. Returns the first failure.
Task<Result<>> do_at_once(std::vector<Task<Result<>>> parts) {
  std::vector<Result<>> results(parts.size());
  const auto into = [](Task<Result<>> work, Result<>* result) -> Task<> { *result = co_await std::move(work); };
  co_await in_parallel(parts.size(), parts.size(),
                       [&](std::size_t index) { return into(std::move(parts[index]), &results[index]); });
  for (Result<>& result : results) {
    if (!result) co_return std::move(result);
  }
  co_return Result<>{};
}

/// The namespace that a record names, if it belongs to that sandbox: a user with access to ConfigMaps could name any
/// namespace, and a copied record names the original's.
Task<Result<std::optional<Object>>> find_home(Cluster* cluster, const Object* config_map, const PodRecord* record) {
  auto home = co_await cluster->client().get(kube::kNamespaces, {}, record->namespace_name);
  if (!home && home.error().not_found()) co_return std::nullopt;
  if (!home) co_return std::unexpected{std::move(home.error())};
  const std::string owner = home->annotation(kRecordOf);
  const bool is_its = labels::is_ours(*home) && home->label(labels::kSandbox) == config_map->label(labels::kSandbox) &&
                      (owner.empty() || owner == config_map->namespace_name() + "/" + config_map->name());
  if (!is_its) co_return std::nullopt;
  co_return std::move(*home);
}

/// Deletes the namespace of a sandbox that has its own; all its objects are deleted with it.
Task<Result<Departure>> begin_removal_of_home(Cluster* cluster, const KnownPod* known, const PodRecord* record,
                                              Removal how) {
  const Object& config_map = *known->config_map;
  Departure departure;
  departure.record_at_end = GoneWait{.resource = kube::kConfigMaps,
                                     .namespace_name = config_map.namespace_name(),
                                     .name = config_map.name(),
                                     .uid = config_map.uid(),
                                     .limit = how.patience};
  SKIFF_CO_TRY(auto home, co_await find_home(cluster, &config_map, record));
  if (!home) co_return departure;
  if (how.force || how.grace) {
    PodRef pod = pod_of(*cluster, *known);
    Removal only_begun = how;
    only_begun.wait = false;
    SKIFF_CO_TRY_VOID(co_await delete_pod(cluster, std::move(pod), std::move(only_begun), true));
  }
  GoneWait namespace_wait{.resource = kube::kNamespaces,
                          .namespace_name = {},
                          .name = home->name(),
                          .uid = home->uid(),
                          .limit = how.patience};
  auto deleted = co_await delete_this(cluster, std::move(namespace_wait), std::nullopt);
  if (!deleted && !deleted.error().conflict()) co_return std::unexpected{std::move(deleted.error())};
  if (deleted && *deleted) departure.leaving.push_back({.wait = std::move(**deleted)});
  co_return departure;
}

/// Deletes the remaining objects of one kind by their label: objects without an owner, which kubectl creates from a
/// manifest, or that the cascade has not deleted yet.
Task<Result<>> remove_rest(Cluster* cluster, kube::Resource resource, std::string namespace_name, std::string id,
                           const Removal* how) {
  kube::ListOptions its{.label_selector = std::string{labels::kSandbox} + "=" + labels::label_value(id)};
  SKIFF_CO_TRY(auto left, co_await cluster->client().list(resource, namespace_name, std::move(its)));
  for (const Object& object : left.items) {
    GoneWait which{.resource = resource,
                   .namespace_name = namespace_name,
                   .name = object.name(),
                   .uid = object.uid(),
                   .limit = how->patience};
    auto deleted = co_await delete_this(cluster, std::move(which), std::nullopt);
    if (!deleted && !deleted.error().conflict()) co_return std::unexpected{std::move(deleted.error())};
    if (!deleted || !*deleted || !how->wait) continue;
    auto gone = co_await wait_until_gone(&cluster->client(), std::move(**deleted));
    if (!gone) co_return gone;
  }
  co_return Result<>{};
}

}  // namespace

Task<Result<Departure>> begin_stop(Cluster* cluster, const KnownPod* known, Removal how, bool is_alone) {
  how = within_the_fence(*known, std::move(how));
  PodRef pod = pod_of(*cluster, *known);
  Departure departure{.namespace_name = pod.namespace_name, .id = pod.id};
  std::vector<Task<Result<>>> parts;
  parts.push_back(take_service(cluster, known, how.patience, &departure));
  parts.push_back(take_pod(cluster, std::move(pod), std::move(how), is_alone, &departure));
  SKIFF_CO_TRY_VOID(co_await do_at_once(std::move(parts)));
  co_return departure;
}

Task<Result<Departure>> begin_removal(Cluster* cluster, const KnownPod* known, Removal how, bool is_alone) {
  how = within_the_fence(*known, std::move(how));
  PodRef pod = pod_of(*cluster, *known);
  Departure departure{.namespace_name = pod.namespace_name, .id = pod.id};
  if (!known->config_map) {
    SKIFF_CO_TRY_VOID(co_await take_pod(cluster, std::move(pod), std::move(how), is_alone, &departure));
    co_return departure;
  }
  const PodRecord record = record_of(*known);
  if (record.namespace_name != known->config_map->namespace_name()) {
    co_return co_await begin_removal_of_home(cluster, known, &record, std::move(how));
  }
  if (known->damage || !record.spec.pod.volumes.empty()) departure.rest.push_back(kube::kVolumeClaims);
  if (known->damage || network_label(record.spec.pod) == "own") departure.rest.push_back(kube::kNetworkPolicies);
  // Delete the record after these: the cascade, which deletes the record's other objects, then has less to do. Until
  // then the sandbox can be found, and its removal repeated.
  std::vector<Task<Result<>>> parts;
  parts.push_back(take_service(cluster, known, how.patience, &departure));
  parts.push_back(take_pod(cluster, std::move(pod), how, is_alone, &departure));
  SKIFF_CO_TRY_VOID(co_await do_at_once(std::move(parts)));
  SKIFF_CO_TRY_VOID(co_await take_record(cluster, &*known->config_map, how.patience, &departure));
  co_return departure;
}

Task<Result<>> finish_removal(Cluster* cluster, Departure departure, Removal how) {
  for (Departure::Leaving& one : departure.leaving) {
    if (!how.wait) break;
    auto gone = co_await wait_until_gone(&cluster->client(), std::move(one.wait), one.news ? &*one.news : nullptr);
    if (!gone) co_return gone;
  }
  for (const kube::Resource& resource : departure.rest) {
    auto gone = co_await remove_rest(cluster, resource, departure.namespace_name, departure.id, &how);
    if (!gone) co_return gone;
  }
  if (!departure.record_at_end) co_return Result<>{};
  auto deleted = co_await delete_this(cluster, std::move(*departure.record_at_end), std::nullopt);
  if (!deleted && !deleted.error().conflict()) co_return std::unexpected{std::move(deleted.error())};
  if (!deleted || !*deleted || !how.wait) co_return Result<>{};
  co_return co_await wait_until_gone(&cluster->client(), std::move(**deleted));
}

}  // namespace skiff::container
