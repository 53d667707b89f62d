#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/error.hpp"
#include "base/task.hpp"
#include "container/kube/object.hpp"
#include "container/sandbox/progress.hpp"
#include "container/sandbox/sandbox.hpp"
#include "protocol/json/schema.hpp"

namespace skiff::container {

inline constexpr unsigned kLargestPool = 1000;

/// A pool that is wanted.
struct PoolSpec {
  std::string name;          ///< see `check_pool_name`
  unsigned size = 1;         ///< how many sandboxes wait in it; at most kLargestPool
  SandboxSpec sandbox = {};  ///< what each of them is made of; its name is not used, its `wait` is that of the pool
};

struct PoolStatus {
  static constexpr std::string_view kSchemaName = "Pool";
  std::string name;
  unsigned available = 0;  ///< ready to be taken
  unsigned active = 0;     ///< were taken, and live
  unsigned total = 0;      ///< all that live, also those that are not ready yet
  unsigned target = 0;     ///< how many shall wait

  std::string reason = {};  ///< why there are fewer, as far as that can be told
  /// Those that nobody has made yet.
  [[nodiscard]] unsigned missing() const noexcept { return target - std::min(waiting(), target); }
  [[nodiscard]] unsigned waiting() const noexcept { return total - std::min(active, total); }

  static constexpr auto fields = std::tuple{
      protocol::field("name", &PoolStatus::name, "Its name"),
      protocol::field("available", &PoolStatus::available, "Ready to be taken"),
      protocol::field("active", &PoolStatus::active, "Taken, and alive"),
      protocol::field("total", &PoolStatus::total, "All that live"),
      protocol::field("target", &PoolStatus::target, "How many shall wait"),
      protocol::field("reason", &PoolStatus::reason, "Why fewer are ready; else empty", {.optional = true}),
  };
};

/// Of all pools of a place.
struct PoolHealth {
  unsigned missing = 0;        ///< members that nobody has made yet
  std::uint64_t failures = 0;  ///< attempts to make them, so far
};

/// Sandboxes that were made before somebody asks for one. Any number of processes may work on the same pool. Errors
/// beside the cluster's: `already_exists`, `not_found` for a pool, `sandbox_failed` for its sandboxes.
class Pools {
 public:
  virtual ~Pools() = default;

  /// Makes it and waits until it is full. When that fails nothing is left of it.
  [[nodiscard]] virtual Task<Result<PoolStatus>> create(PoolSpec wanted, Progress progress) = 0;
  /// Makes more or removes some; never one that was taken. Waits until the new ones are ready, for `wait` at most.
  [[nodiscard]] virtual Task<Result<PoolStatus>> scale(std::string name, unsigned size, std::chrono::milliseconds wait,
                                                       Progress progress) = 0;
  [[nodiscard]] virtual Task<Result<PoolStatus>> status(std::string name) = 0;
  /// All of the namespace, by name.
  [[nodiscard]] virtual Task<Result<std::vector<PoolStatus>>> list() = 0;
  /// The SandboxTemplate that `create` would make for it, for those who apply it themselves: its signing key is made if
  /// there is none. The cluster has been asked whether it would take it. `invalid_field` where pools have none.
  [[nodiscard]] virtual Task<Result<kube::Object>> template_of(PoolSpec wanted) = 0;
  /// Removes the pool and what waits in it, and verifies that; what was taken stays. False: there was none.
  [[nodiscard]] virtual Task<Result<bool>> remove(std::string name) = 0;
  /// Begins to make what is missing in any of them, where no controller does: what was drained, lost with a node, or
  /// refused.
  [[nodiscard]] virtual Task<Result<PoolHealth>> heal() { co_return PoolHealth{}; }
};

/// `invalid_field` unless it is as a sandbox's name, of at most 40 characters.
[[nodiscard]] Result<> check_pool_name(std::string_view name);
/// The name, the size, and what each of many sandboxes can't have: a volume, a namespace, a policy or a service of its
/// own belong to the one that is taken.
[[nodiscard]] Result<> check_pool(const PoolSpec& wanted);

/// Takes back what a pool or a template decides, and nobody has asked for: what is not a flag of `given` ("--memory")
/// is a default for those who make their own Pod.
void leave_to_the_pool(SandboxSpec& wanted, std::span<const std::string> given);

/// A sandbox from a pool is as the pool has made it: `invalid_field`, naming the first flag that asks for another Pod.
/// `pool`: what it makes them of; null when that is not known, so that every such flag is one too many.
[[nodiscard]] Result<> check_fits_pool(const SandboxSpec& wanted, const SandboxSpec* pool);

/// The spec with what the pool has decided: the image and all of the Pod, and the pool's variables beside its own.
[[nodiscard]] SandboxSpec complete_from_pool(SandboxSpec wanted, const SandboxSpec& pool);

/// "there is no pool NAME", and how to make one.
[[nodiscard]] Error no_such_pool(std::string_view name);
/// "there is a pool NAME", and what changes it.
[[nodiscard]] Error pool_exists(std::string_view name);
/// `sandbox_failed`: only so many of those that shall wait in it were ready when the time was over.
[[nodiscard]] Error not_full_in_time(std::string_view name, std::size_t ready, std::size_t size);

}  // namespace skiff::container
