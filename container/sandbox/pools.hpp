#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "container/kube/objects/object.hpp"
#include "container/sandbox/progress.hpp"
#include "container/sandbox/sandbox.hpp"
#include "protocol/json/schema.hpp"

namespace skiff::container {

inline constexpr unsigned kLargestPool = 1000;

/// A request for a pool.
struct PoolSpec {
  std::string name;          ///< see `check_pool_name`
  unsigned size = 1;         ///< number of sandboxes that wait in it; at most kLargestPool
  SandboxSpec sandbox = {};  ///< spec of each of them; its name is not used, its `wait` is that of the pool
};

struct PoolStatus {
  static constexpr std::string_view kSchemaName = "Pool";
  std::string name;
  unsigned available = 0;  ///< ready to be taken
  unsigned active = 0;     ///< taken and alive
  unsigned total = 0;      ///< all that are alive, also those that are not ready yet
  unsigned target = 0;     ///< number of sandboxes that should wait

  std::string reason = {};  ///< why there are fewer, if known
  /// Number of members that are not created yet.
  [[nodiscard]] unsigned missing() const noexcept { return target - std::min(waiting(), target); }
  [[nodiscard]] unsigned waiting() const noexcept { return total - std::min(active, total); }

  static constexpr auto fields = std::tuple{
      protocol::field("name", &PoolStatus::name, "Name of the pool"),
      protocol::field("available", &PoolStatus::available, "Number of sandboxes that are ready to be taken"),
      protocol::field("active", &PoolStatus::active, "Number of sandboxes that were taken and are alive"),
      protocol::field("total", &PoolStatus::total, "Number of all sandboxes that are alive"),
      protocol::field("target", &PoolStatus::target, "Number of sandboxes that should wait"),
      protocol::field("reason", &PoolStatus::reason, "Why fewer are ready, or empty", {.optional = true}),
  };
};

/// The state of all pools of a place.
struct PoolHealth {
  unsigned missing = 0;                ///< members that are not created yet
  std::uint64_t failures = 0;          ///< failed attempts to create members so far
  std::vector<PoolStatus> pools = {};  ///< without reasons
};

/// Pools of sandboxes that are created in advance. Any number of processes may work on the same pool. Errors beside the
/// cluster's: `already_exists`, `not_found` for a pool, `sandbox_failed` for its sandboxes.
class Pools {
 public:
  virtual ~Pools() = default;

  /// Creates a pool and waits until it is full. If that fails, the pool is removed.
  [[nodiscard]] virtual Task<Result<PoolStatus>> create(PoolSpec wanted, Progress progress) = 0;
  /// Creates more members or removes some, but never one that was taken. Waits until the new ones are ready, for at
  /// most `wait`.
  [[nodiscard]] virtual Task<Result<PoolStatus>> scale(std::string name, unsigned size, std::chrono::milliseconds wait,
                                                       Progress progress) = 0;
  [[nodiscard]] virtual Task<Result<PoolStatus>> status(std::string name) = 0;
  /// All pools of the namespace, by name.
  [[nodiscard]] virtual Task<Result<std::vector<PoolStatus>>> list() = 0;
  /// The SandboxTemplate that `create` would create for the pool, after the policy that it needs, for callers who apply
  /// them themselves; its signing key is created if there is none. The cluster has checked the template.
  /// `invalid_field` if this driver's pools have no template.
  [[nodiscard]] virtual Task<Result<std::vector<kube::Object>>> manifest_of(PoolSpec wanted) = 0;
  /// Removes the pool and the sandboxes that wait in it, and verifies it. Taken sandboxes stay. Returns false if there
  /// was no pool.
  [[nodiscard]] virtual Task<Result<bool>> remove(std::string name) = 0;
  /// Begins to create the missing members of all pools, if no controller does: members that were drained, lost with a
  /// node, or refused.
  [[nodiscard]] virtual Task<Result<PoolHealth>> heal() { co_return PoolHealth{}; }
};

/// `invalid_field` unless it is a valid name of a sandbox with at most 40 characters.
[[nodiscard]] Result<> check_pool_name(std::string_view name);
/// Checks the name and the size, and refuses options of a single sandbox: a volume, a namespace, a policy or a Service
/// of its own belongs to a sandbox that was taken.
[[nodiscard]] Result<> check_pool(const PoolSpec& wanted);

/// Resets options that the pool or template decides and that the user did not give: if its flag is not in `given`
/// ("--memory"), a value is only a default for sandboxes with their own Pod.
void leave_to_the_pool(SandboxSpec& wanted, std::span<const std::string> given);

/// A sandbox from a pool has the pool's Pod: `invalid_field` names the first flag that asks for another one. `pool` is
/// the spec of its members; null if it is not known, and then every such flag is refused.
[[nodiscard]] Result<> check_fits_pool(const SandboxSpec& wanted, const SandboxSpec* pool);

/// The spec with the pool's decisions: the image and the Pod's options, and the pool's variables in addition to its
/// own.
[[nodiscard]] SandboxSpec complete_from_pool(SandboxSpec wanted, const SandboxSpec& pool);

/// "there is no pool NAME", and how to create one.
[[nodiscard]] Error no_such_pool(std::string_view name);
/// "there is a pool NAME", and how to change it.
[[nodiscard]] Error pool_exists(std::string_view name);
/// `sandbox_failed`: only `ready` of `size` sandboxes were ready when the time was over.
[[nodiscard]] Error not_full_in_time(std::string_view name, std::size_t ready, std::size_t size);

}  // namespace skiff::container
