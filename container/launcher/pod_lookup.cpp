#include "container/launcher/pod_lookup.hpp"

#include <map>
#include <utility>

#include <nlohmann/json.hpp>

#include "container/launcher/labels.hpp"

namespace skiff::container {
using kube::Object;

Task<Result<KnownPod>> find_sandbox(Cluster* cluster, std::string name) {
  if (auto valid = check_name(name); !valid) co_return std::unexpected{std::move(valid.error())};
  const std::string object_name = cluster->object_name(name);
  kube::Client& client = cluster->client();
  KnownPod known;
  std::string namespace_name = cluster->namespace_name();
  std::string pod_name = object_name;
  auto config_map = co_await client.get(kube::kConfigMaps, namespace_name, object_name);
  if (!config_map && !config_map.error().not_found()) co_return std::unexpected{std::move(config_map.error().error)};
  if (config_map && labels::is_ours(*config_map) && !config_map->is_being_deleted()) {
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
  if (pod && labels::is_ours(*pod)) known.pod = std::move(*pod);
  if (!known.record && !known.pod) co_return std::unexpected{no_such_sandbox(name)};
  co_return known;
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

Task<Result<SandboxPage>> list_sandboxes(Cluster* cluster, SandboxFilter filter) {
  kube::Client& client = cluster->client();
  const std::string& here = cluster->namespace_name();
  // A record's Pod may be in a namespace of its own; who may not look there still sees the record.
  std::map<std::string, PodRecord> records;
  std::map<std::string, Sandbox> found;
  std::map<std::string, Object> config_maps;
  std::string from;
  do {
    auto page = co_await client.list_page(kube::kConfigMaps, here,
                                          {.label_selector = labels::selector("record", filter)}, std::move(from));
    if (!page) co_return std::unexpected{std::move(page.error().error)};
    for (Object& object : page->items) {
      auto record = read_record(object);
      if (!record) {
        Sandbox damaged = describe_damaged(object, record.error());
        found.emplace(damaged.name, std::move(damaged));
        continue;
      }
      const std::string name = record->spec.name;
      found.insert_or_assign(name, describe(*record, object, nullptr));
      object.json.erase("data");
      config_maps.emplace(name, std::move(object));
      records.emplace(name, std::move(*record));
    }
    from = std::move(page->continue_token);
  } while (!from.empty());
  const auto take_pods = [&](const std::vector<Object>& pods) {
    for (const Object& pod : pods) {
      if (!pod.label(labels::kPoolState).empty() && pod.label(labels::kPoolState) == "free") continue;
      const std::string name = labels::get(pod, labels::kName);
      const auto record = records.find(name);
      if (record == records.end()) {
        found.insert_or_assign(name, describe_pod(pod));
      } else if (record->second.pod == pod.name()) {
        found.insert_or_assign(name, describe(record->second, config_maps.at(name), &pod));
      }
    }
  };
  do {
    auto page = co_await client.list_page(kube::kPods, here, {.label_selector = labels::selector("sandbox", filter)},
                                          std::move(from));
    if (!page) co_return std::unexpected{std::move(page.error().error)};
    take_pods(page->items);
    from = std::move(page->continue_token);
  } while (!from.empty());
  for (const auto& [name, record] : records) {
    if (record.namespace_name == here || record.stopped) continue;
    auto pod = co_await client.get(kube::kPods, record.namespace_name, record.pod);
    if (pod) take_pods({std::move(*pod)});
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
