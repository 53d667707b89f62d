#include "container/drivers/pods/find.hpp"

#include <array>
#include <map>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/async/in_parallel.hpp"
#include "base/async/with_timeout.hpp"
#include "container/agent/seal.hpp"
#include "container/cluster/labels.hpp"
#include "container/cluster/pod/gone_pod.hpp"
#include "container/cluster/pod/pod_manifest.hpp"
#include "container/drivers/pods/turns/pool_turns.hpp"
#include "container/kube/objects/pod.hpp"

namespace skiff::container {
namespace {

using kube::Object;

/// Most tries to change a record; each follows a change by another client.
constexpr int kMostTries = 20;
/// Number of single sandboxes that are read at the same time for a list.
constexpr std::size_t kLooksAtOnce = 16;

/// Checks the labels, because records and Pods of pools have names that sandboxes could have, too, and a taken Pod
/// keeps its name.
bool is_part_of(const Object& object, std::string_view component, std::string_view name) {
  return labels::is_ours(object) && object.label(labels::kComponent) == component &&
         labels::get(object, labels::kName) == name;
}

Sandbox describe_with(const PodRecord& record, const Object& config_map, const std::optional<Object>& pod,
                      WallTime now) {
  if (!pod) return describe(record, config_map, nullptr, now);
  const Sandbox alone = describe_pod(*pod);
  return describe(record, config_map, &alone, now);
}

KnownPod read_config_map(Object config_map, WallTime seen_at) {
  KnownPod known{.seen_at = seen_at};
  auto record = read_record(config_map);
  known.config_map = std::move(config_map);
  if (record) {
    known.record = std::move(*record);
  } else {
    known.damage = std::move(record.error());
  }
  return known;
}

/// The record of that object; nullopt if there is none, or if it is being deleted.
Task<Result<std::optional<KnownPod>>> find_record(Cluster* cluster, std::string name, std::string object_name,
                                                  Cluster::Reading reading = Cluster::Reading::now) {
  auto found = co_await cluster->read(kube::kConfigMaps, cluster->namespace_name(), std::move(object_name), reading);
  if (!found && !found.error().not_found()) co_return std::unexpected{std::move(found.error())};
  if (!found || !is_part_of(*found, "record", name) || found->is_being_deleted()) co_return std::nullopt;
  co_return read_config_map(std::move(*found), cluster->client().transport().server_now());
}

/// Puts the Pod into `known` that its record vouches for, if it does.
Task<> trust_seal(Cluster* cluster, KnownPod* known) {
  const std::string seal = known->config_map->text({"data", kSeal});
  if (!known->record->was_up || seal.empty()) co_return;
  const auto keys = co_await cluster->signing_keys();
  if (!keys) co_return;
  const auto key = sealed_by(*keys, text_to_seal(*known->record, *known->config_map), seal);
  if (!key) co_return;
  const auto public_key = key->public_pem();
  if (!public_key) co_return;
  known->pod = recorded_pod(*known->record, *public_key);
  known->is_sealed = true;
}

/// Reads the record, and then its Pod.
Task<Result<KnownPod>> look(Cluster* cluster, std::string name, std::string object_name, Cluster::Reading reading,
                            bool trusts_seals) {
  KnownPod known;
  std::string namespace_name = cluster->namespace_name();
  std::string pod_name = object_name;
  SKIFF_CO_TRY(auto recorded, co_await find_record(cluster, name, std::move(object_name), reading));
  if (recorded) {
    known = std::move(*recorded);
    if (known.damage || known.record->stopped) co_return known;
    if (trusts_seals) co_await trust_seal(cluster, &known);
    if (known.is_sealed) co_return known;
    namespace_name = known.record->namespace_name;
    pod_name = known.record->pod;
  }
  auto pod = co_await cluster->read(kube::kPods, std::move(namespace_name), std::move(pod_name), reading);
  if (!pod && !pod.error().not_found()) co_return std::unexpected{std::move(pod.error())};
  if (pod && is_part_of(*pod, "sandbox", name)) known.pod = std::move(*pod);
  if (!known.record && !known.pod) co_return std::unexpected{no_such_sandbox(name)};
  co_return known;
}

/// Finds out how a Pod that is gone has ended, unless it never existed.
Task<> look_for_end(Cluster* cluster, KnownPod* known) {
  if (known->pod || !known->record || known->record->stopped || cluster->is_in_doubt()) co_return;
  const PodRecord& record = *known->record;
  GonePod pod{.namespace_name = record.namespace_name,
              .name = record.pod,
              .uid = record.pod_uid,
              .node = record.node,
              .started_at = record.started_at};
  auto end = co_await end_of_gone(&cluster->client(), std::move(pod));
  known->end = std::move(end);
}

/// Repeats the reads until a missing Pod belongs to an unchanged record: a `stop` between the two reads would remove
/// the Pod, too.
Task<Result<KnownPod>> look_twice(Cluster* cluster, std::string name, std::string object_name,
                                  Cluster::Reading reading = Cluster::Reading::now, bool trusts_seals = false) {
  std::string seen;
  for (;;) {
    auto known = co_await look(cluster, name, object_name, reading, trusts_seals);
    reading = Cluster::Reading::now;
    const bool is_missing = known && known->record && !known->record->stopped && !known->pod;
    if (!is_missing) co_return known;
    if (known->config_map->resource_version() == seen) {
      co_await look_for_end(cluster, &*known);
      co_return known;
    }
    seen = known->config_map->resource_version();
  }
}

/// Finds a sandbox by its labels, whatever the name of its object is.
Task<Result<KnownPod>> find_by_labels(Cluster* cluster, std::string name, std::string id) {
  std::vector<KnownPod> found;
  for (const auto& [resource, component] : {std::pair{kube::kConfigMaps, "record"}, {kube::kPods, "sandbox"}}) {
    std::string selector = labels::selector(component, {});
    selector.append(",").append(labels::kName).append("=").append(labels::label_value(name));
    auto listed =
        co_await cluster->client().list(resource, cluster->namespace_name(), {.label_selector = std::move(selector)});
    // A user who may not list can find sandboxes only by their names.
    if (!listed && listed.error().forbidden()) co_return std::unexpected{no_such_sandbox(name)};
    if (!listed) co_return std::unexpected{std::move(listed.error())};
    for (Object& object : listed->items) {
      if (!is_part_of(object, component, name) || object.is_being_deleted()) continue;
      KnownPod one;
      if (resource.plural == kube::kConfigMaps.plural) {
        one = read_config_map(std::move(object), cluster->client().transport().server_now());
      } else {
        one.pod = std::move(object);
      }
      if (id.empty() || describe_known(one).id == id) found.push_back(std::move(one));
    }
    if (!found.empty()) break;  // its Pod is a part of it
  }
  if (found.empty()) co_return std::unexpected{no_such_sandbox(name)};
  if (found.size() == 1) co_return std::move(found.front());
  std::string message = "there are several sandboxes \"" + name + "\", with names of other prefixes:";
  for (const KnownPod& one : found) message += " " + (one.config_map ? one.config_map->name() : one.pod->name());
  co_return fail(Errc::sandbox_conflict, message + "; --name-prefix says which", "--name-prefix");
}

}  // namespace

bool is_being_taken(const KnownPod& known) {
  const PodRecord& record = *known.record;
  return !known.pod && !record.spec.pod.pool.empty() && !record.was_up && !record.begun_at;
}

Task<Result<KnownPod>> find_sandbox(Cluster* cluster, std::string name, Cluster::Reading reading) {
  SKIFF_CO_TRY_VOID(check_name(name));
  std::string object_name = cluster->object_name(name);
  co_return co_await look_twice(cluster, std::move(name), std::move(object_name), reading);
}

Task<Result<KnownPod>> find_sealed(Cluster* cluster, std::string name) {
  SKIFF_CO_TRY_VOID(check_name(name));
  std::string object_name = cluster->object_name(name);
  co_return co_await look_twice(cluster, std::move(name), std::move(object_name), Cluster::Reading::now, true);
}

Task<Result<KnownPod>> find_to_remove(Cluster* cluster, std::string name, std::string id) {
  SKIFF_CO_TRY_VOID(check_name(name));
  const std::string object_name = cluster->object_name(name);
  SKIFF_CO_TRY(auto recorded, co_await find_record(cluster, name, object_name));
  const auto is_it = [&id](const KnownPod& known) {
    // A sandbox from a pool has the id of its Pod in the pool; its record also keeps an id of its own.
    const Object& first = known.config_map ? *known.config_map : *known.pod;
    return id.empty() || first.label(labels::kSandbox) == id || (known.record && known.record->id == id);
  };
  if (recorded && is_it(*recorded)) co_return std::move(*recorded);
  if (!recorded) {
    auto pod = co_await cluster->client().get(kube::kPods, cluster->namespace_name(), object_name);
    if (!pod && !pod.error().not_found()) co_return std::unexpected{std::move(pod.error())};
    if (pod && is_part_of(*pod, "sandbox", name)) {
      KnownPod known{.pod = std::move(*pod)};
      if (is_it(known)) co_return known;
    }
  }
  co_return co_await find_by_labels(cluster, std::move(name), std::move(id));
}

Task<Result<std::optional<Object>>> find_pod(Cluster* cluster, std::string namespace_name, std::string pod,
                                             std::string id) {
  auto found = co_await cluster->client().get(kube::kPods, std::move(namespace_name), std::move(pod));
  if (found && found->label(labels::kSandbox) == id) co_return std::move(*found);
  if (found || found.error().not_found()) co_return std::nullopt;
  co_return std::unexpected{std::move(found.error())};
}

Sandbox describe_known(const KnownPod& known) {
  if (known.damage) return describe_damaged(*known.config_map, *known.damage);
  if (known.record) {
    Sandbox sandbox = describe_with(*known.record, *known.config_map, known.pod, known.seen_at);
    if (known.end && sandbox.state == SandboxState::failed) {
      sandbox.reason = "its pod is gone: " + known.end->why;
      sandbox.details["ended_by"] = word_of(known.end->by);
    }
    if (!known.service || !sandbox.details.contains("service")) return sandbox;
    sandbox.details["cluster_ip"] = kube::cluster_ip(*known.service);
    const auto addresses = kube::load_balancer_addresses(*known.service);
    if (!addresses.empty()) sandbox.details["external_address"] = addresses.front();
    return sandbox;
  }
  Sandbox alone = describe_pod(*known.pod);
  alone.was_broken = false;  // there is no record that could bring it back
  return alone;
}

std::string loss_of(const KnownPod& known) {
  const Sandbox before = describe_known(known);
  // An interrupted start has stopped it again.
  if (!before.was_broken) return known.record->was_up ? std::string{} : known.record->lost_with;
  return keeps_files(known.record->spec) ? std::string{} : before.reason;
}

Task<Result<Object>> change_record(Cluster* cluster, const KnownPod* known, nlohmann::json data) {
  const Object& record = *known->config_map;
  nlohmann::json patch{{"metadata", {{"uid", record.uid()}}}, {"data", std::move(data)}};
  SKIFF_CO_TRY(auto changed, co_await cluster->client().patch(kube::kConfigMaps, record.namespace_name(), record.name(),
                                                              kube::PatchKind::merge, std::move(patch)));
  cluster->note(kube::kConfigMaps, changed);
  co_return std::move(changed);
}

namespace {

/// Notes in `known` that the sandbox is up, and returns what the record's data has to say.
Task<nlohmann::json> data_of_up(Cluster* cluster, KnownPod* known, std::optional<std::string> expires_at) {
  PodRecord& record = *known->record;
  record.was_up = true;
  record.pod_uid = known->pod->uid();
  record.node = known->pod->text({"spec", "nodeName"});
  record.started_at = known->pod->text({"status", "startTime"});
  record.expires_at = std::move(expires_at);
  nlohmann::json data{{"was_up", "true"}, {"pod_uid", record.pod_uid}};
  // A Pod from a pool keeps its id and its name, which were not known when the record was made.
  if (known->config_map->text({"data", "pod"}) != record.pod) {
    data["id"] = record.id;
    data["pod"] = record.pod;
  }
  if (!record.node.empty()) data["node"] = record.node;
  if (!record.started_at.empty()) data["started_at"] = record.started_at;
  if (known->service) data["service_uid"] = record.service_uid = known->service->uid();
  if (record.expires_at) data["expires_at"] = *record.expires_at;
  const auto key = co_await cluster->signing_key_of(*known->pod);
  // With --override the agent's port may be another one than the spec's, which the seal says.
  const bool is_as_sealed = key && agent_port_of(*known->pod) == record.spec.pod.agent_port;
  auto seal = is_as_sealed ? create_seal(*key, text_to_seal(record, *known->config_map)) : std::nullopt;
  data[kSeal] = seal ? nlohmann::json(std::move(*seal)) : nlohmann::json{};
  co_return data;
}

}  // namespace

Task<Result<>> note_up(Cluster* cluster, KnownPod* known, std::optional<std::string> expires_at) {
  nlohmann::json data = co_await data_of_up(cluster, known, std::move(expires_at));
  SKIFF_CO_TRY(auto changed, co_await change_record(cluster, known, std::move(data)));
  known->config_map = std::move(changed);
  co_return Result<>{};
}

Task<Result<bool>> note_up_as_seen(Cluster* cluster, KnownPod* known, std::optional<std::string> expires_at) {
  nlohmann::json data = co_await data_of_up(cluster, known, std::move(expires_at));
  SKIFF_CO_TRY(auto changed, co_await change_record_as_seen(cluster, known, std::move(data)));
  if (!changed) co_return false;
  known->config_map = std::move(*changed);
  co_return true;
}

Task<Result<std::optional<Object>>> change_record_as_seen(Cluster* cluster, const KnownPod* known,
                                                          nlohmann::json data) {
  const Object& record = *known->config_map;
  nlohmann::json patch{{"metadata", {{"uid", record.uid()}, {"resourceVersion", record.resource_version()}}},
                       {"data", std::move(data)}};
  auto changed = co_await cluster->client().patch(kube::kConfigMaps, record.namespace_name(), record.name(),
                                                  kube::PatchKind::merge, std::move(patch));
  if (changed) {
    cluster->note(kube::kConfigMaps, *changed);
    co_return std::move(*changed);
  }
  const kube::Failure& why = changed.error();
  if (why.conflict() || why.not_found() || why.may_have_happened) co_return std::nullopt;
  co_return std::unexpected{std::move(changed.error())};
}

Task<Result<KnownPod>> change_spec(Cluster* cluster, KnownPod known, std::function<void(PodRecord& record)> change) {
  kube::Client& client = cluster->client();
  const std::string namespace_name = known.config_map->namespace_name();
  const std::string name = known.config_map->name();
  for (int tries = 0; tries < kMostTries; ++tries) {
    PodRecord record = *known.record;
    change(record);
    nlohmann::json data{{"spec", protocol::to_json(record.spec)}};
    if (record.spec.has_egress()) data["egress"] = nlohmann::json(record.spec.egress).dump();
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
    if (!changed.error().conflict()) co_return std::unexpected{std::move(changed.error())};
    auto now = co_await client.get(kube::kConfigMaps, namespace_name, name);
    if (!now && !now.error().not_found()) co_return std::unexpected{std::move(now.error())};
    if (!now || now->uid() != known.config_map->uid()) {
      co_return std::unexpected{no_such_sandbox(known.record->spec.name)};
    }
    SKIFF_CO_TRY(auto read, read_record(*now));
    known.config_map = std::move(*now);
    known.record = std::move(read);
  }
  co_return fail(Errc::timeout, "the record " + name + " is being changed by others repeatedly; try again");
}

Task<Result<>> change_label(Cluster* cluster, KnownPod known, std::string label, std::string value) {
  const Object seen = known.pod ? *known.pod : Object{};
  SKIFF_CO_TRY(auto changed, co_await change_spec(cluster, std::move(known),
                                                  [&](PodRecord& record) { record.spec.labels[label] = value; }));
  Object labelled;
  labels::put_user_labels(labelled, {{label, value}});
  const auto put = [&](const kube::Resource& resource, const Object& object) {
    nlohmann::json patch = labelled.json;
    patch["metadata"]["uid"] = object.uid();
    return cluster->client().patch(resource, object.namespace_name(), object.name(), kube::PatchKind::merge,
                                   std::move(patch));
  };
  SKIFF_CO_TRY_VOID(co_await put(kube::kConfigMaps, *changed.config_map));
  if (seen.uid().empty()) co_return Result<>{};
  auto patched = co_await put(kube::kPods, seen);
  // Another Pod gets the label from the record.
  if (patched || patched.error().not_found() || patched.error().conflict()) co_return Result<>{};
  co_return std::unexpected{std::move(patched.error())};
}

namespace {

/// Reads both kinds at the same time: each may have thousands of objects. Returns the first error.
Task<Result<>> read_both(Cluster* cluster, const SandboxFilter* filter,
                         std::function<void(std::vector<Object> items, bool is_first)> note_pods,
                         std::function<void(std::vector<Object> items, bool is_first)> note_records) {
  std::array<Result<>, 2> results;
  const auto read = [](Cluster* from, kube::Resource resource, std::string selector,
                       std::function<void(std::vector<Object> items, bool is_first)> note, Result<>* result) -> Task<> {
    auto seen = co_await from->client().each_page(resource, from->namespace_name(),
                                                  {.label_selector = std::move(selector)}, std::move(note));
    if (!seen) *result = std::unexpected{std::move(seen.error())};
  };
  co_await in_parallel(results.size(), results.size(), [&](std::size_t index) {
    if (index == 0) return read(cluster, kube::kPods, labels::selector("sandbox", *filter), note_pods, &results[0]);
    return read(cluster, kube::kConfigMaps, labels::selector("record", *filter), note_records, &results[1]);
  });
  for (Result<>& result : results) {
    if (!result) co_return std::move(result);
  }
  co_return Result<>{};
}

/// False if the API server does not answer soon.
Task<bool> read_in_time(Cluster* cluster, const SandboxFilter* filter,
                        std::function<void(std::vector<Object> items, bool is_first)> note_pods,
                        std::function<void(std::vector<Object> items, bool is_first)> note_records) {
  if (!co_await cluster->check_answers()) co_return false;
  auto read = co_await within(std::chrono::steady_clock::now() + kube::ApiPresence::kAway,
                              read_both(cluster, filter, std::move(note_pods), std::move(note_records)));
  if (read && *read) co_return true;
  cluster->doubt();
  co_return false;
}

/// Takes what the watches know, without asking the API server.
void read_copies(const WatchedObjects& copies, const SandboxFilter& filter,
                 const std::function<void(std::vector<Object> items, bool is_first)>& note_pods,
                 const std::function<void(std::vector<Object> items, bool is_first)>& note_records) {
  const auto read = [&filter](const kube::Mirror& from, std::string_view component, const auto& note) {
    from.for_each([&](Object object) {
      if (!labels::is_selected(object, component, filter)) return;
      std::vector<Object> one;
      one.push_back(std::move(object));
      note(std::move(one), false);
    });
  };
  read(copies.pods(), "sandbox", note_pods);
  read(copies.config_maps(), "record", note_records);
}

/// Reads a sandbox that could not be described from the lists: its Pod is in a namespace of its own, or was missing in
/// the lists, which show two different moments. nullopt if it is gone.
Task<> look_alone(Cluster* cluster, KnownPod known, std::optional<Sandbox>* sandbox) {
  const std::string name = known.record->spec.name;
  const auto made = known.config_map->created();
  const bool is_in_line = is_being_taken(known) && made && known.seen_at - *made < PoolTurns::kLongestWait;
  if (cluster->is_in_doubt() || is_in_line) {
    *sandbox = describe_known(known);
    co_return;
  }
  if (known.record->namespace_name == cluster->namespace_name()) {
    auto now = co_await look_twice(cluster, name, known.config_map->name());
    if (!now && now.error().code == Errc::sandbox_not_found) co_return;
    if (now && now->config_map && now->config_map->uid() == known.config_map->uid()) known = std::move(*now);
    *sandbox = describe_known(known);
    co_return;
  }
  auto pod = co_await cluster->client().get(kube::kPods, known.record->namespace_name, known.record->pod);
  const bool is_unknown = !pod && !pod.error().not_found();
  if (pod) known.pod = std::move(*pod);
  if (!is_unknown) co_await look_for_end(cluster, &known);
  *sandbox = is_unknown ? describe_unseen(*known.record, *known.config_map, pod.error().error) : describe_known(known);
}

}  // namespace

Task<Result<SandboxPage>> list_sandboxes(Cluster* cluster, SandboxFilter filter) {
  const std::string here = cluster->namespace_name();
  std::map<std::string, Sandbox> pods;
  const auto note_pods = [&pods](const std::vector<Object>& items, bool is_first) {
    if (is_first) pods.clear();
    for (const Object& pod : items) pods.insert_or_assign(pod.name(), describe_pod(pod));
  };
  std::vector<KnownPod> records;
  const auto note_records = [&](std::vector<Object> items, bool is_first) {
    if (is_first) records.clear();
    for (Object& config_map : items) {
      records.push_back(read_config_map(std::move(config_map), cluster->client().transport().server_now()));
      // There may be thousands of records: do not keep the parsed data twice.
      if (records.back().record) records.back().config_map->json.erase("data");
    }
  };
  WatchedObjects* const copies = filter.copies_will_do || filter.reads_copies ? cluster->watched() : nullptr;
  if (copies == nullptr || !copies->is_complete()) {
    SKIFF_CO_TRY_VOID(co_await read_both(cluster, &filter, note_pods, note_records));
  } else if (filter.reads_copies) {
    read_copies(*copies, filter, note_pods, note_records);
  } else if (!co_await read_in_time(cluster, &filter, note_pods, note_records)) {
    pods.clear();
    records.clear();
    read_copies(*copies, filter, note_pods, note_records);
  }
  std::map<std::string, Sandbox> recorded;
  std::vector<KnownPod> alone;
  for (KnownPod& known : records) {
    if (known.damage) {
      Sandbox sandbox = describe_known(known);
      recorded.insert_or_assign(sandbox.name, std::move(sandbox));
      continue;
    }
    const PodRecord& record = *known.record;
    const auto pod = pods.find(record.pod);
    const bool is_here = record.namespace_name == here && pod != pods.end();
    if (is_here || record.stopped) {
      Sandbox sandbox = describe(record, *known.config_map, is_here ? &pod->second : nullptr, known.seen_at);
      recorded.insert_or_assign(record.spec.name, std::move(sandbox));
    } else {
      alone.push_back(std::move(known));
    }
  }
  std::vector<std::optional<Sandbox>> seen(alone.size());
  co_await in_parallel(alone.size(), kLooksAtOnce,
                       [&](std::size_t index) { return look_alone(cluster, std::move(alone[index]), &seen[index]); });
  for (std::optional<Sandbox>& sandbox : seen) {
    if (sandbox) recorded.insert_or_assign(sandbox->name, std::move(*sandbox));
  }
  // A sandbox with a record is described by its record.
  for (auto& [pod, sandbox] : pods) {
    sandbox.was_broken = false;
    recorded.emplace(sandbox.name, std::move(sandbox));
  }
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
