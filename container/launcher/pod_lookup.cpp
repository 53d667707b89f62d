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

Sandbox describe_with(const PodRecord& record, const Object& config_map, const std::optional<Object>& pod) {
  if (!pod) return describe(record, config_map, nullptr);
  const Sandbox alone = describe_pod(*pod);
  return describe(record, config_map, &alone);
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
  return describe_with(*known.record, *known.config_map, known.pod);
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
  std::map<std::string, Sandbox> pods;
  const auto note_pods = [&pods](const std::vector<Object>& items, bool is_first) {
    if (is_first) pods.clear();
    for (const Object& pod : items) pods.insert_or_assign(pod.name(), describe_pod(pod));
  };
  auto seen =
      co_await client.each_page(kube::kPods, here, {.label_selector = labels::selector("sandbox", filter)}, note_pods);
  if (!seen) co_return std::unexpected{std::move(seen.error().error)};
  std::map<std::string, Sandbox> recorded;
  std::vector<KnownPod> elsewhere;
  const auto note_records = [&](std::vector<Object> items, bool is_first) {
    if (is_first) {
      recorded.clear();
      elsewhere.clear();
    }
    for (Object& config_map : items) {
      auto record = read_record(config_map);
      if (!record) {
        recorded.insert_or_assign(labels::get(config_map, labels::kName), describe_damaged(config_map, record.error()));
      } else if (record->namespace_name == here || record->stopped) {
        const auto pod = pods.find(record->pod);
        Sandbox sandbox = describe(*record, config_map, pod == pods.end() ? nullptr : &pod->second);
        recorded.insert_or_assign(record->spec.name, std::move(sandbox));
      } else {
        elsewhere.push_back({.config_map = std::move(config_map), .record = std::move(*record)});
      }
    }
  };
  seen = co_await client.each_page(kube::kConfigMaps, here, {.label_selector = labels::selector("record", filter)},
                                   note_records);
  if (!seen) co_return std::unexpected{std::move(seen.error().error)};
  for (KnownPod& known : elsewhere) {
    auto pod = co_await client.get(kube::kPods, known.record->namespace_name, known.record->pod);
    const bool is_unknown = !pod && !pod.error().not_found();
    if (pod) known.pod = std::move(*pod);
    Sandbox sandbox = is_unknown ? describe_unseen(*known.record, *known.config_map, pod.error().error)
                                 : describe_with(*known.record, *known.config_map, known.pod);
    recorded.insert_or_assign(known.record->spec.name, std::move(sandbox));
  }
  // One with a record is described by it.
  for (auto& [pod, sandbox] : pods) recorded.emplace(sandbox.name, std::move(sandbox));
  SandboxPage page;
  for (auto& [name, sandbox] : recorded) {
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
