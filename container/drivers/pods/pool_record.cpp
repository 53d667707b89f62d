#include "container/drivers/pods/pool_record.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstddef>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/clock.hpp"
#include "base/id.hpp"
#include "container/cluster/labels.hpp"
#include "container/cluster/pod/network_policies.hpp"
#include "container/kube/objects/pod.hpp"

namespace skiff::container {
namespace {

using kube::Object;
using nlohmann::json;

constexpr std::string_view kFree = "free";
constexpr std::string_view kTaken = "taken";
constexpr std::string_view kLeaving = "leaving";
/// Field of a pool's record: "true" if its members have egress by name.
constexpr const char* kFenced = "is_fenced";
/// Number of parts of a pool; a member's number selects its part.
constexpr unsigned kSlots = 64;
/// Distance of the parts of one read: the members of a small pool have numbers that follow each other.
constexpr unsigned kStride = 39;
/// A pool of at most this size is read as a whole.
constexpr unsigned kSmallPool = 8;
/// Average number of Pods in one read of a part of a larger pool.
constexpr unsigned kLookedAt = 4;

std::string member_prefix(const Object& record) {
  return record.name() + "-";
}

std::optional<unsigned> member_number(const Object& record, const Object& pod) {
  const std::string name = pod.name();
  const std::string prefix = member_prefix(record);
  if (!name.starts_with(prefix)) return std::nullopt;
  unsigned number = 0;
  const char* const end = name.data() + name.size();
  const auto [stopped, error] = std::from_chars(name.data() + prefix.size(), end, number);
  if (error != std::errc{} || stopped != end) return std::nullopt;
  return number;
}

/// Appends a key to a JSON pointer (RFC 6901, 3).
std::string pointer_to(std::string_view parent, std::string_view key) {
  std::string path{parent};
  path += '/';
  for (const char c : key) path += c == '~' ? "~0" : c == '/' ? "~1" : std::string{c};
  return path;
}

json operation(std::string_view op, std::string path, json value) {
  return {{"op", op}, {"path", std::move(path)}, {"value", std::move(value)}};
}

/// The patch applies only to this Pod, and only while it is free.
json begin_patch(const Object& pod) {
  return json::array({operation("test", "/metadata/uid", pod.uid()),
                      operation("test", pointer_to("/metadata/labels", labels::kPoolState), kFree)});
}

/// Appends the operations that turn one map of labels or annotations into another.
void append_changes(json& patch, std::string_view parent, const json& before, const json& after) {
  if (before.is_null()) {
    if (!after.is_null()) patch.push_back(operation("add", std::string{parent}, after));
    return;
  }
  for (const auto& [key, value] : before.items()) {
    if (!after.contains(key)) patch.push_back({{"op", "remove"}, {"path", pointer_to(parent, key)}});
  }
  for (const auto& [key, value] : after.items()) {
    const auto known = before.find(key);
    if (known == before.end() || *known != value) patch.push_back(operation("add", pointer_to(parent, key), value));
  }
}

json metadata_of(const Object& object, std::string_view key) {
  const json* found = object.find({"metadata", key});
  return found == nullptr ? json{} : *found;
}

/// The Pod's metadata for its new owner, without the pool's owner and labels.
Object as_taken(const Object& pod, const SandboxSpec& sandbox) {
  Object taken;
  json& metadata = taken.json["metadata"];
  metadata = pod.json.at("metadata");
  for (const char* map : {"labels", "annotations"}) {
    if (!metadata.contains(map)) continue;
    std::erase_if(metadata[map].get_ref<json::object_t&>(), [](const auto& entry) {
      const std::string& key = entry.first;
      return key == labels::kOwner || key == labels::kName || key == labels::kUsername ||
             key == "app.kubernetes.io/instance" || key.starts_with(labels::kUserPrefix);
    });
  }
  labels::put_common(taken, "sandbox", sandbox.name, sandbox.owner);
  labels::put(taken, labels::kPoolState, kTaken);
  labels::put_user_labels(taken, sandbox.labels);
  if (!sandbox.pod.username.empty()) labels::put(taken, labels::kUsername, sandbox.pod.username);
  if (const std::string kind = network_label(sandbox); !kind.empty()) labels::put(taken, labels::kNetwork, kind);
  if (sandbox.has_egress()) metadata["annotations"][kEgressAnnotation] = json(sandbox.egress).dump();
  if (sandbox.lease.ttl) {
    metadata["annotations"][labels::kExpiresAt] = rfc3339(wall_now() + *sandbox.lease.ttl);
  }
  return taken;
}

}  // namespace

std::uint32_t random_number() {
  std::array<std::byte, sizeof(std::uint32_t)> bytes{};
  random_bytes(bytes);
  return std::bit_cast<std::uint32_t>(bytes);
}

std::string pool_record_name(std::string_view prefix, std::string_view pool) {
  return std::string{prefix} + "pool-" + std::string{pool};
}

std::string pool_selector(std::string_view pool) {
  return std::string{labels::kPool} + "=" + labels::label_value(pool);
}

std::string some_slots(unsigned size, unsigned random) {
  if (size <= kSmallPool) return {};
  const unsigned count = std::max(1U, kSlots * kLookedAt / size);
  std::string selector{labels::kPoolSlot};
  for (unsigned i = 0; i < count; ++i) {
    selector.append(i == 0 ? " in (" : ",").append(std::to_string((random + i * kStride) % kSlots));
  }
  return selector + ")";
}

Object create_pool_record(const PoolSpec& pool, std::string_view namespace_name, std::string_view prefix) {
  SandboxSpec spec = pool.sandbox;
  spec.name = pool.name;
  spec.lease = {};
  Object record = Object::make(kube::kConfigMaps, namespace_name, pool_record_name(prefix, pool.name));
  labels::put_common(record, "pool", pool.name, spec.owner);
  labels::put(record, labels::kPool, pool.name);
  record.json["data"] = {{"spec", protocol::to_json(spec)}, {"size", std::to_string(pool.size)}};
  if (spec.has_egress()) record.json["data"][kFenced] = "true";
  return record;
}

Result<PoolSpec> read_pool_record(const Object& config_map) {
  const auto broken = [&](const std::string& why) {
    return fail(Errc::invalid_field, "ConfigMap " + config_map.name() + " is not a pool of skiff's: " + why);
  };
  std::vector<std::string> from_a_newer_skiff;
  auto spec = protocol::decode<SandboxSpec>(config_map.text({"data", "spec"}), {}, &from_a_newer_skiff);
  if (!spec) return broken(spec.error().message);
  const std::string size = config_map.text({"data", "size"});
  PoolSpec pool{.name = spec->name, .size = 0, .sandbox = std::move(*spec)};
  pool.sandbox.is_fenced = config_map.text({"data", kFenced}) == "true";
  const auto [end, error] = std::from_chars(size.data(), size.data() + size.size(), pool.size);
  if (error != std::errc{} || end != size.data() + size.size() || pool.size > kLargestPool) {
    return broken("its size is \"" + size + "\"");
  }
  return pool;
}

SandboxSpec while_it_waits(const PoolSpec& pool) {
  SandboxSpec spec = pool.sandbox;
  spec.pod.dialects.clear();
  return spec;
}

Result<Object> create_member(const PoolSpec& pool, const Object& record, const ManifestContext& context,
                             unsigned number) {
  SandboxSpec spec = pool.sandbox;
  spec.name = "pool-" + pool.name + "-" + std::to_string(number);
  auto pod = create_pod(spec, context);
  if (!pod) return pod;
  pod->json["metadata"]["name"] = member_prefix(record) + std::to_string(number);
  // Not of the component `sandbox` yet, so that no list of sandboxes contains it.
  labels::put(*pod, labels::kComponent, "pool-member");
  labels::put(*pod, labels::kPool, pool.name);
  const std::string network = network_label(while_it_waits(pool));
  if (!network.empty()) labels::put(*pod, labels::kNetwork, network);
  labels::put(*pod, labels::kPoolState, kFree);
  labels::put(*pod, labels::kPoolSlot, std::to_string(number % kSlots));
  pod->json["metadata"]["ownerReferences"] = json::array({record.owner_reference()});
  return pod;
}

MemberState member_state(const Object& pod) {
  const std::string state = pod.label(labels::kPoolState);
  if (state == kTaken) return MemberState::taken;
  if (state != kFree || pod.is_being_deleted()) return MemberState::leaving;
  const std::string phase = kube::pod_phase(pod);
  return phase == "Failed" || phase == "Succeeded" ? MemberState::dead : MemberState::free;
}

bool can_be_taken(const Object& pod) {
  return member_state(pod) == MemberState::free && kube::is_pod_ready(pod);
}

PoolStatus count_members(const PoolSpec& pool, const std::vector<Object>& pods) {
  PoolStatus status{.name = pool.name, .target = pool.size};
  for (const Object& pod : pods) {
    const MemberState state = member_state(pod);
    const std::string phase = kube::pod_phase(pod);
    const bool lives = !pod.is_being_deleted() && phase != "Failed" && phase != "Succeeded";
    if (state == MemberState::taken && lives) ++status.active;
    if ((state == MemberState::taken && lives) || state == MemberState::free) ++status.total;
    if (can_be_taken(pod)) ++status.available;
  }
  return status;
}

PoolPlan plan_pool(const PoolSpec& pool, const Object& record, const std::vector<Object>& pods) {
  PoolPlan plan;
  std::set<unsigned> used;
  std::vector<std::pair<unsigned, Object>> waiting;
  for (const Object& pod : pods) {
    const auto number = member_number(record, pod);
    if (!number) continue;
    used.insert(*number);
    const MemberState state = member_state(pod);
    if (state == MemberState::free) waiting.emplace_back(*number, pod);
    if (state == MemberState::dead || (state == MemberState::leaving && !pod.is_being_deleted())) {
      plan.remove.push_back(pod);
    }
  }
  if (waiting.size() > pool.size) {
    std::ranges::sort(waiting, [](const auto& a, const auto& b) {
      return std::pair{can_be_taken(a.second), b.first} < std::pair{can_be_taken(b.second), a.first};
    });
    for (std::size_t i = 0; i < waiting.size() - pool.size; ++i) plan.remove.push_back(std::move(waiting[i].second));
  }
  for (unsigned number = 0; waiting.size() + plan.create.size() < pool.size; ++number) {
    if (!used.contains(number)) plan.create.push_back(number);
  }
  return plan;
}

json take_patch(const Object& pod, const SandboxSpec& sandbox, const std::optional<Object>& record,
                std::string_view taker) {
  json patch = begin_patch(pod);
  // The record of the pool may be an old copy, of one whose Pods were fenced.
  if (sandbox.has_egress()) {
    patch.push_back(operation("test", pointer_to("/metadata/labels", labels::kNetwork), kEgressNetwork));
  }
  Object taken = as_taken(pod, sandbox);
  if (!taker.empty()) taken.json["metadata"]["annotations"][labels::kTakenBy] = taker;
  for (const char* map : {"labels", "annotations"}) {
    append_changes(patch, std::string{"/metadata/"} + map, metadata_of(pod, map), metadata_of(taken, map));
  }
  json owners = json::array();
  if (record) owners.push_back(record->owner_reference());
  patch.push_back(operation("add", "/metadata/ownerReferences", std::move(owners)));
  return patch;
}

json leave_patch(const Object& pod) {
  json patch = begin_patch(pod);
  patch.push_back(operation("replace", pointer_to("/metadata/labels", labels::kPoolState), kLeaving));
  return patch;
}

bool was_taken_for(const Object& pod, const SandboxSpec& sandbox, const std::optional<Object>& record) {
  if (member_state(pod) != MemberState::taken || labels::get(pod, labels::kName) != sandbox.name) return false;
  const json owners = metadata_of(pod, "ownerReferences");
  if (!record) return owners.empty() && labels::get(pod, labels::kOwner) == sandbox.owner;
  return std::ranges::any_of(owners, [&](const json& owner) { return owner.value("uid", "") == record->uid(); });
}

}  // namespace skiff::container
