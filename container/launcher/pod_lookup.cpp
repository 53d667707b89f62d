#include "container/launcher/pod_lookup.hpp"

#include <map>
#include <utility>

#include <nlohmann/json.hpp>

#include "container/launcher/labels.hpp"

namespace skiff::container {
namespace {

using kube::Object;

/// Each is begun by what others have written meanwhile.
constexpr int kMostTries = 20;

/// The records and Pods of pools have names that sandboxes could have too, and a Pod that was taken keeps its.
bool is_part_of(const Object& object, std::string_view component, std::string_view name) {
  return labels::is_ours(object) && object.label(labels::kComponent) == component &&
         labels::get(object, labels::kName) == name;
}

/// The record, and then its Pod.
Task<Result<KnownPod>> look(Cluster* cluster, std::string name) {
  const std::string object_name = cluster->object_name(name);
  kube::Client& client = cluster->client();
  KnownPod known;
  std::string namespace_name = cluster->namespace_name();
  std::string pod_name = object_name;
  auto config_map = co_await client.get(kube::kConfigMaps, namespace_name, object_name);
  if (!config_map && !config_map.error().not_found()) co_return std::unexpected{std::move(config_map.error().error)};
  if (config_map && is_part_of(*config_map, "record", name) && !config_map->is_being_deleted()) {
    auto record = read_record(*config_map);
    known.config_map = std::move(*config_map);
    if (!record) {
      known.damage = std::move(record.error());
      co_return known;
    }
    namespace_name = record->namespace_name;
    pod_name = record->pod;
    known.record = std::move(*record);
    if (known.record->stopped) co_return known;
  }
  auto pod = co_await client.get(kube::kPods, namespace_name, pod_name);
  if (!pod && !pod.error().not_found()) co_return std::unexpected{std::move(pod.error().error)};
  if (pod && is_part_of(*pod, "sandbox", name)) known.pod = std::move(*pod);
  if (!known.record && !known.pod) co_return std::unexpected{no_such_sandbox(name)};
  co_return known;
}

}  // namespace

Task<Result<KnownPod>> find_sandbox(Cluster* cluster, std::string name) {
  if (auto valid = check_name(name); !valid) co_return std::unexpected{std::move(valid.error())};
  std::string seen;
  for (;;) {
    auto known = co_await look(cluster, name);
    const bool is_missing = known && known->record && !known->record->stopped && !known->pod;
    // A `stop` between the two looks takes the Pod too: it is missing only for a record that is still as it was.
    if (!is_missing || known->config_map->resource_version() == seen) co_return known;
    seen = known->config_map->resource_version();
  }
}

Sandbox describe_known(const KnownPod& known) {
  if (known.damage) return describe_damaged(*known.config_map, *known.damage);
  if (!known.record) return describe_pod(*known.pod);
  return describe(*known.record, *known.config_map, known.pod ? &*known.pod : nullptr);
}

Task<Result<Object>> change_record(Cluster* cluster, const KnownPod* known, nlohmann::json data) {
  const Object& record = *known->config_map;
  nlohmann::json patch{{"metadata", {{"uid", record.uid()}}}, {"data", std::move(data)}};
  auto changed = co_await cluster->client().patch(kube::kConfigMaps, record.namespace_name(), record.name(),
                                                  kube::PatchKind::merge, std::move(patch));
  if (!changed) co_return std::unexpected{std::move(changed.error().error)};
  co_return std::move(*changed);
}

Task<Result<KnownPod>> change_spec(Cluster* cluster, KnownPod known, std::function<void(PodRecord& record)> change) {
  kube::Client& client = cluster->client();
  const std::string namespace_name = known.config_map->namespace_name();
  const std::string name = known.config_map->name();
  for (int tries = 0; tries < kMostTries; ++tries) {
    PodRecord record = *known.record;
    change(record);
    nlohmann::json data{{"spec", protocol::to_json(record.spec)}};
    if (record.expires_at) data["expires_at"] = *record.expires_at;
    nlohmann::json patch{{"metadata", {{"resourceVersion", known.config_map->resource_version()}}},
                         {"data", std::move(data)}};
    auto changed =
        co_await client.patch(kube::kConfigMaps, namespace_name, name, kube::PatchKind::merge, std::move(patch));
    if (changed) {
      known.record = std::move(record);
      known.config_map = std::move(*changed);
      co_return known;
    }
    if (!changed.error().conflict()) co_return std::unexpected{std::move(changed.error().error)};
    auto now = co_await client.get(kube::kConfigMaps, namespace_name, name);
    if (!now && !now.error().not_found()) co_return std::unexpected{std::move(now.error().error)};
    if (!now || now->uid() != known.config_map->uid()) {
      co_return std::unexpected{no_such_sandbox(known.record->spec.name)};
    }
    auto read = read_record(*now);
    if (!read) co_return std::unexpected{std::move(read.error())};
    known.config_map = std::move(*now);
    known.record = std::move(*read);
  }
  co_return fail(Errc::timeout, "the record " + name + " is changed by others again and again; try again");
}

Task<Result<SandboxPage>> list_sandboxes(Cluster* cluster, SandboxFilter filter) {
  kube::Client& client = cluster->client();
  const std::string& here = cluster->namespace_name();
  // Pods first: whatever is stopped, started or made meanwhile, no record is seen without the Pod that it had before.
  auto pods = co_await client.list(kube::kPods, here, {.label_selector = labels::selector("sandbox", filter)});
  if (!pods) co_return std::unexpected{std::move(pods.error().error)};
  auto config_maps =
      co_await client.list(kube::kConfigMaps, here, {.label_selector = labels::selector("record", filter)});
  if (!config_maps) co_return std::unexpected{std::move(config_maps.error().error)};
  std::map<std::string, const Object*> by_pod;
  std::map<std::string, Sandbox> found;
  for (const Object& pod : pods->items) {
    by_pod.emplace(pod.name(), &pod);
    Sandbox alone = describe_pod(pod);
    found.insert_or_assign(alone.name, std::move(alone));
  }
  for (const Object& config_map : config_maps->items) {
    auto record = read_record(config_map);
    Sandbox sandbox;
    if (!record) {
      sandbox = describe_damaged(config_map, record.error());
    } else if (record->namespace_name == here || record->stopped) {
      const auto pod = by_pod.find(record->pod);
      sandbox = describe(*record, config_map, pod == by_pod.end() ? nullptr : pod->second);
    } else {
      auto pod = co_await client.get(kube::kPods, record->namespace_name, record->pod);
      const bool is_unknown = !pod && !pod.error().not_found();
      sandbox = is_unknown ? describe_unseen(*record, config_map, pod.error().error)
                           : describe(*record, config_map, pod ? &*pod : nullptr);
    }
    found.insert_or_assign(sandbox.name, std::move(sandbox));
  }
  SandboxPage page;
  for (auto& [name, sandbox] : found) {
    if (name <= filter.cursor || (filter.state && sandbox.state != *filter.state)) continue;
    if (page.items.size() == filter.limit) {
      page.next = page.items.back().name;
      break;
    }
    page.items.push_back(std::move(sandbox));
  }
  co_return page;
}

}  // namespace skiff::container
