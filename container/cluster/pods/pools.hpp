#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/task_group.hpp"
#include "container/cluster/cluster.hpp"
#include "container/cluster/pods/pool_record.hpp"
#include "container/cluster/reach.hpp"
#include "container/sandbox/pools.hpp"

namespace skiff::container {

/// A sandbox out of a pool: it is the caller's alone, and its agent has the caller's environment, labels and lease.
struct TakenSandbox {
  kube::Object pod;
  std::string id;
};

/// A Pod with its new names and owner, which its agent doesn't know of yet.
struct ClaimedPod {
  kube::Object pod;
  std::optional<std::size_t> left = {};  ///< how many others were waiting then, ready or not; none: not all were seen
};

/// Pools that no controller keeps: whoever takes a Pod makes the next one. Reactor thread only; what it is made with
/// must outlive it.
class PodPools final : public Pools {
 public:
  PodPools(Cluster* cluster, Reach* reach) : cluster_{cluster}, reach_{reach}, successors_{cluster->executor()} {}
  /// Waits until what was taken has its successor; call it before the object goes away.
  [[nodiscard]] Task<> close();

  [[nodiscard]] Task<Result<PoolStatus>> create(PoolSpec wanted, Progress progress) override;
  [[nodiscard]] Task<Result<PoolStatus>> scale(std::string name, unsigned size, std::chrono::milliseconds wait,
                                               Progress progress) override;
  [[nodiscard]] Task<Result<PoolStatus>> status(std::string name) override;
  [[nodiscard]] Task<Result<std::vector<PoolStatus>>> list() override;
  [[nodiscard]] Task<Result<bool>> remove(std::string name) override;
  [[nodiscard]] Task<Result<kube::Object>> template_of(PoolSpec wanted) override;
  [[nodiscard]] Task<Result<PoolHealth>> heal() override;

  /// The spec with what the pool has decided, as a Pod of its own would need it. `invalid_field` when it asks for
  /// another Pod than the pool makes.
  [[nodiscard]] Task<Result<SandboxSpec>> complete(SandboxSpec spec);
  /// Limits what the sandbox of that id can reach.
  using Limit = std::function<Task<Result<>>(std::string id)>;

  /// Takes a ready Pod from the pool `spec.pod.pool` for the sandbox, limits it, binds it to `spec` and makes one Pod
  /// in its place, without waiting for that. From now on `record` owns the Pod. Nothing when none is ready: make a cold
  /// one, and say so. A failed or cancelled call leaves no Pod.
  [[nodiscard]] Task<Result<std::optional<TakenSandbox>>> take(SandboxSpec spec, kube::Object record, Limit limit);

  /// The first half of `take`. Without a record nobody owns the Pod, and the caller must remove it.
  [[nodiscard]] Task<Result<std::optional<ClaimedPod>>> claim(SandboxSpec spec, std::optional<kube::Object> record);
  /// Makes what is missing, and removes what is too much.
  [[nodiscard]] Task<Result<PoolStatus>> fill(std::string name);

 private:
  /// A pool as it is now.
  struct View {
    PoolSpec pool;
    kube::Object record;
    std::vector<kube::Object> pods = {};
  };
  /// Without its Pods.
  [[nodiscard]] Task<Result<View>> find(std::string name);
  /// With all of them, also those that were taken.
  [[nodiscard]] Task<Result<View>> look(std::string name);
  /// What a new Pod must say beside its spec.
  [[nodiscard]] Task<Result<ManifestContext>> member_context();
  /// Makes one Pod, if the pool may have more than `left`. What fails here the next `fill` does.
  /// Of a pool one fills it at a time, however many have asked for it.
  void want_filled(std::string name);
  [[nodiscard]] Task<> fill_in_turn(std::string name);
  void note_filling(const std::string& name, std::string trouble);
  [[nodiscard]] Task<std::string> why_short(const View* view);
  [[nodiscard]] Task<Result<std::vector<PoolStatus>>> list_quickly();
  [[nodiscard]] Task<> make_successor(std::string name, std::optional<std::size_t> left);
  [[nodiscard]] Task<Result<>> carry_out(PoolPlan plan, View view);
  [[nodiscard]] Task<Result<>> add_member(const View* view, ManifestContext context, unsigned number);
  [[nodiscard]] Task<Result<>> remove_member(kube::Object pod);
  [[nodiscard]] Task<Result<>> make_policy(const PoolSpec* pool);
  [[nodiscard]] Task<Result<PoolStatus>> make_and_fill(PoolSpec wanted, std::string creation, SteadyTime deadline,
                                                       Progress progress);
  [[nodiscard]] Task<Result<PoolStatus>> fill_and_wait(std::string name, SteadyTime deadline, Progress progress);
  [[nodiscard]] Task<Result<PoolStatus>> scale_and_fill(std::string name, unsigned size, SteadyTime deadline,
                                                        Progress progress);
  [[nodiscard]] Task<Result<>> wait_until_full(std::string name, unsigned size, SteadyTime deadline, Progress progress);
  [[nodiscard]] Task<Result<>> bind(kube::Object pod, SandboxSpec spec);
  [[nodiscard]] Task<Result<>> make_record(const PoolSpec* wanted, std::string creation);
  /// Removes the pool if it is that of `creation`.
  [[nodiscard]] Task<Result<bool>> take_back(std::string name, std::string creation,
                                             std::chrono::milliseconds patience);
  [[nodiscard]] Task<Result<bool>> remove_within(std::string name, std::chrono::milliseconds patience);

  Cluster* cluster_;
  Reach* reach_;
  TaskGroup successors_;
  std::map<std::string, bool, std::less<>> fillers_;          ///< pools that are being filled; true: and then once more
  std::map<std::string, std::string, std::less<>> troubles_;  ///< of pools, why they can't be filled
  bool is_kept_ = false;                                      ///< by a process that looks at them again and again
  std::uint64_t failures_ = 0;                                ///< to fill one
  std::map<std::string, unsigned, std::less<>> sizes_;        ///< of pools, when they were last asked for a spec
};

}  // namespace skiff::container
