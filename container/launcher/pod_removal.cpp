#include "container/launcher/pod_removal.hpp"

#include <chrono>
#include <utility>
#include <vector>

#include "container/launcher/labels.hpp"
#include "container/launcher/pod_manifest.hpp"
#include "container/launcher/pod_wait.hpp"

namespace skiff::container {
namespace {

using kube::Object;
using std::chrono::milliseconds;

/// Above the Pod's grace period, by what the cluster itself takes.
constexpr milliseconds kGoneLimit{90'000};
/// A namespace waits for everything in it.
constexpr milliseconds kNamespaceGoneLimit{180'000};

Task<Result<>> remove_home(Cluster* cluster, std::string name) {
  auto removed = co_await cluster->client().remove(kube::kNamespaces, {}, name);
  if (!removed && !removed.error().not_found()) co_return std::unexpected{std::move(removed.error().error)};
  GoneWait wait{
      .resource = kube::kNamespaces, .namespace_name = {}, .name = std::move(name), .limit = kNamespaceGoneLimit};
  co_return co_await wait_until_gone(&cluster->client(), std::move(wait));
}

/// One that can't be read has the Pod and the service of its name, as far as anybody can know.
PodRecord record_of(const KnownPod& known) {
  if (known.record) return *known.record;
  PodRecord record;
  record.id = known.config_map->text({"data", "id"});
  if (record.id.empty()) record.id = known.config_map->label(labels::kSandbox);
  record.namespace_name = known.config_map->namespace_name();
  record.pod = known.config_map->name();
  return record;
}

}  // namespace

Task<Result<>> remove_object(Cluster* cluster, kube::Resource resource, std::string namespace_name, std::string name,
                             std::string id) {
  kube::Client& client = cluster->client();
  auto found = co_await client.get(resource, namespace_name, name);
  if (!found && found.error().not_found()) co_return Result<>{};
  if (!found) co_return std::unexpected{std::move(found.error().error)};
  if (found->label(labels::kSandbox) != id) co_return Result<>{};
  kube::RemoveOptions options{.uid = found->uid()};
  auto removed = co_await client.remove(resource, namespace_name, name, std::move(options));
  if (!removed && (removed.error().not_found() || removed.error().conflict())) co_return Result<>{};
  if (!removed) co_return std::unexpected{std::move(removed.error().error)};
  const bool is_pod = resource.plural == kube::kPods.plural;
  kube::SharedWatch* const ours = is_pod ? &cluster->pods(namespace_name) : nullptr;
  GoneWait wait{.resource = resource,
                .namespace_name = std::move(namespace_name),
                .name = std::move(name),
                .uid = found->uid(),
                .limit = kGoneLimit};
  co_return co_await wait_until_gone(&client, std::move(wait), ours);
}

Task<Result<>> remove_workload(Cluster* cluster, const KnownPod* known) {
  const PodRecord record = record_of(*known);
  if (auto gone = co_await remove_object(cluster, kube::kPods, record.namespace_name, record.pod, record.id); !gone) {
    co_return gone;
  }
  if (record.spec.pod.service == ServiceKind::none) co_return Result<>{};
  const std::string service = service_name(known->config_map->name());
  co_return co_await remove_object(cluster, kube::kServices, record.namespace_name, service, record.id);
}

Task<Result<>> remove_sandbox(Cluster* cluster, const KnownPod* known) {
  if (!known->config_map) {
    const Object& pod = *known->pod;
    co_return co_await remove_object(cluster, kube::kPods, pod.namespace_name(), pod.name(),
                                     pod.label(labels::kSandbox));
  }
  kube::Client& client = cluster->client();
  const Object& config_map = *known->config_map;
  const PodRecord record = record_of(*known);
  if (record.namespace_name != config_map.namespace_name()) {
    if (auto gone = co_await remove_home(cluster, record.namespace_name); !gone) co_return gone;
  }
  kube::RemoveOptions options{.uid = config_map.uid()};
  auto removed =
      co_await client.remove(kube::kConfigMaps, config_map.namespace_name(), config_map.name(), std::move(options));
  if (!removed && removed.error().conflict()) co_return Result<>{};
  if (!removed && !removed.error().not_found()) co_return std::unexpected{std::move(removed.error().error)};
  // The cascade takes the rest; the Pod, which takes longest, need not wait for it.
  if (auto gone = co_await remove_workload(cluster, known); !gone) co_return gone;
  for (auto& [resource, name] : owned_objects(record.spec, cluster->options().name_prefix)) {
    // Also where kubectl made them from a manifest, without an owner.
    auto gone = co_await remove_object(cluster, resource, record.namespace_name, name, record.id);
    if (!gone) co_return gone;
  }
  GoneWait last{.resource = kube::kConfigMaps,
                .namespace_name = config_map.namespace_name(),
                .name = config_map.name(),
                .uid = config_map.uid(),
                .limit = kGoneLimit};
  co_return co_await wait_until_gone(&client, std::move(last));
}

}  // namespace skiff::container
