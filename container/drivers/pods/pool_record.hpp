#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "container/cluster/pod/pod_manifest.hpp"
#include "container/kube/objects/object.hpp"
#include "container/sandbox/pools.hpp"

/// The objects of a pool without a controller: a record (a ConfigMap), which owns the Pods that wait. This file sends
/// no requests.
namespace skiff::container {

/// A random number, for callers that must not all make the same choice.
[[nodiscard]] std::uint32_t random_number();

/// "skiff-pool-NAME".
[[nodiscard]] std::string pool_record_name(std::string_view prefix, std::string_view pool);
/// Selects all Pods of a pool, including those that were taken.
[[nodiscard]] std::string pool_selector(std::string_view pool);

/// Selects a few Pods of a pool of that size; `random` chooses which. A Pod has 8 KiB, so a caller that needs one
/// should not read hundreds. Empty for a small pool. It does not select Pods of an older skiff.
[[nodiscard]] std::string some_slots(unsigned size, unsigned random);

/// The ConfigMap. It contains no lease, because a lease begins when a sandbox is taken.
[[nodiscard]] kube::Object create_pool_record(const PoolSpec& pool, std::string_view namespace_name,
                                              std::string_view prefix);
/// `invalid_field` if the record is damaged.
[[nodiscard]] Result<PoolSpec> read_pool_record(const kube::Object& config_map);

/// Numbers from here on are chosen at random for a Pod that replaces a taken one.
inline constexpr unsigned kFirstSuccessor = 1'000'000;

/// The spec for the network of a free member: its dialects are not reachable.
[[nodiscard]] SandboxSpec while_it_waits(const PoolSpec& pool);
/// The Pod with number `number`, which is part of its name. Filling a pool uses the lowest free numbers, so that
/// concurrent calls cannot create too many Pods.
[[nodiscard]] Result<kube::Object> create_member(const PoolSpec& pool, const kube::Object& record,
                                                 const ManifestContext& context, unsigned number);

enum class MemberState : std::uint8_t {
  free,
  taken,
  leaving,  ///< marked, so that no caller takes it any more, and then deleted
  dead,     ///< ended while it waited
};
[[nodiscard]] MemberState member_state(const kube::Object& pod);
/// True if the Pod is free and its agent is ready.
[[nodiscard]] bool can_be_taken(const kube::Object& pod);

[[nodiscard]] PoolStatus count_members(const PoolSpec& pool, const std::vector<kube::Object>& pods);

/// The changes that bring the pool to its size.
struct PoolPlan {
  std::vector<unsigned> create;
  std::vector<kube::Object> remove;  ///< first those that cannot be taken, then the highest numbers
};
[[nodiscard]] PoolPlan plan_pool(const PoolSpec& pool, const kube::Object& record,
                                 const std::vector<kube::Object>& pods);

/// JSON patches (RFC 6902) that change the state of a free Pod, and fail if it is not free any more. A taken Pod gets
/// the sandbox's names and labels, and its record, if it has one, as the owner; it keeps its id. `taker` says which
/// server takes it (labels::kTakenBy); empty: a command does.
[[nodiscard]] nlohmann::json take_patch(const kube::Object& pod, const SandboxSpec& sandbox,
                                        const std::optional<kube::Object>& record, std::string_view taker = {});
[[nodiscard]] nlohmann::json leave_patch(const kube::Object& pod);
/// True if `take_patch` was applied to the Pod: for a patch whose answer was lost.
[[nodiscard]] bool was_taken_for(const kube::Object& pod, const SandboxSpec& sandbox,
                                 const std::optional<kube::Object>& record);

}  // namespace skiff::container
