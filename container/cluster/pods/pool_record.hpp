#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "container/cluster/pod_manifest.hpp"
#include "container/kube/object.hpp"
#include "container/sandbox/pools.hpp"

/// The objects of a pool that needs no controller: a record (a ConfigMap), which owns the Pods that wait. Nothing here
/// talks to the API server.
namespace skiff::container {

/// "skiff-pool-NAME".
[[nodiscard]] std::string pool_record_name(std::string_view prefix, std::string_view pool);
/// Selects all Pods of a pool, also those that were taken.
[[nodiscard]] std::string pool_selector(std::string_view pool);

/// Selects a few Pods of a pool of that size, others for another number: a Pod has 8 KiB, and whoever wants one need
/// not read hundreds. Empty for a pool that is small anyway. Pods of an older skiff are in no such part.
[[nodiscard]] std::string some_slots(unsigned size, unsigned random);

/// The ConfigMap. A lease begins when a sandbox is taken, so the pool's own has none.
[[nodiscard]] kube::Object make_pool_record(const PoolSpec& pool, std::string_view namespace_name,
                                            std::string_view prefix);
/// `invalid_field` when somebody else wrote into it.
[[nodiscard]] Result<PoolSpec> read_pool_record(const kube::Object& config_map);

/// Numbers from here on are chosen at random, by those who make one Pod in the place of another.
inline constexpr unsigned kFirstSuccessor = 1'000'000;

/// What the network of a member goes by as long as nobody has it: its dialects are for nobody then.
[[nodiscard]] SandboxSpec while_it_waits(const PoolSpec& pool);
/// The Pod number `number`. The number is part of its name, and whoever fills the pool takes the lowest ones that are
/// not in use: two who do so at once can't make more than was asked for.
[[nodiscard]] Result<kube::Object> make_member(const PoolSpec& pool, const kube::Object& record,
                                               const ManifestContext& context, unsigned number);

enum class MemberState : std::uint8_t {
  free,
  taken,
  leaving,  ///< marked so, that nobody takes it any more, and then deleted
  dead,     ///< it has ended while it waited
};
[[nodiscard]] MemberState member_state(const kube::Object& pod);
/// Free, and its agent is ready.
[[nodiscard]] bool can_be_taken(const kube::Object& pod);

[[nodiscard]] PoolStatus count_members(const PoolSpec& pool, const std::vector<kube::Object>& pods);

/// What makes the Pods be as many as they should.
struct PoolPlan {
  std::vector<unsigned> create;
  std::vector<kube::Object> remove;  ///< those that can't be taken first, then the highest numbers
};
[[nodiscard]] PoolPlan plan_pool(const PoolSpec& pool, const kube::Object& record,
                                 const std::vector<kube::Object>& pods);

/// The JSON patches (RFC 6902) that change the state of a free Pod, and fail when it is free no more. Taken, it gets
/// the sandbox's names and labels, and its record (if it has one) for its owner; its id stays.
[[nodiscard]] nlohmann::json take_patch(const kube::Object& pod, const SandboxSpec& sandbox,
                                        const std::optional<kube::Object>& record);
[[nodiscard]] nlohmann::json leave_patch(const kube::Object& pod);
/// The pod is as `take_patch` makes it: for when the answer to the patch was lost.
[[nodiscard]] bool was_taken_for(const kube::Object& pod, const SandboxSpec& sandbox,
                                 const std::optional<kube::Object>& record);

}  // namespace skiff::container
