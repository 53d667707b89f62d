#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/async/event.hpp"
#include "base/async/task_group.hpp"
#include "container/cluster/cluster.hpp"
#include "container/cluster/reach.hpp"
#include "container/drivers/pods/pool_record.hpp"
#include "container/drivers/pods/turns/pool_turns.hpp"
#include "container/sandbox/pools.hpp"

namespace skiff::container {

/// A sandbox from a pool: it belongs to the caller, and its agent has the caller's environment, labels and lease.
struct TakenSandbox {
  kube::Object pod;
  std::string id;
};

/// A Pod with its new names and owner, which its agent does not know yet.
struct ClaimedPod {
  kube::Object pod;
  std::optional<std::size_t> left = {};  ///< number of other waiting members, ready or not; empty: not all were read
};

/// Pools without a controller: a caller that takes a Pod creates the next one. Reactor thread only; the arguments must
/// outlive it.
class PodPools final : public Pools {
 public:
  PodPools(Cluster* cluster, Reach* reach)
      : cluster_{cluster}, reach_{reach}, quiet_{cluster->executor()}, successors_{cluster->executor()} {}
  /// Waits for the successors of taken Pods; call it before the object is destroyed.
  [[nodiscard]] Task<> close();

  [[nodiscard]] Task<Result<PoolStatus>> create(PoolSpec wanted, Progress progress) override;
  [[nodiscard]] Task<Result<PoolStatus>> scale(std::string name, unsigned size, std::chrono::milliseconds wait,
                                               Progress progress) override;
  [[nodiscard]] Task<Result<PoolStatus>> status(std::string name) override;
  [[nodiscard]] Task<Result<std::vector<PoolStatus>>> list() override;
  [[nodiscard]] Task<Result<bool>> remove(std::string name) override;
  [[nodiscard]] Task<Result<std::vector<kube::Object>>> manifest_of(PoolSpec wanted) override;
  [[nodiscard]] Task<Result<PoolHealth>> heal() override;

  /// The spec with the pool's decisions, as a Pod of its own would need it. `invalid_field` if it asks for another Pod
  /// than the pool's.
  [[nodiscard]] Task<Result<SandboxSpec>> complete(SandboxSpec spec);
  /// Applies the network policy of the sandbox with that id.
  using Limit = std::function<Task<Result<>>(std::string id)>;

  /// Takes a ready Pod from the pool `spec.pod.pool` for the sandbox, limits it, binds it to `spec` and creates its
  /// successor, without waiting for that. From then on `record` owns the Pod. Where a watch knows the pool, the caller
  /// waits for its turn. nullopt if none is ready: create a cold one, and report it. A failed or cancelled call leaves
  /// no Pod.
  [[nodiscard]] Task<Result<std::optional<TakenSandbox>>> take(SandboxSpec spec, kube::Object record, Limit limit);

  /// Counts the cold Pod of that name among those that start, while the result exists.
  [[nodiscard]] std::unique_ptr<PodStarts::Permit> cold_start(std::string name);
  /// Whether the namespace of a pool, which was completed, assigns users (Cluster::assigns_ids).
  [[nodiscard]] Task<bool> assigns_ids(std::string pool);

  /// The first half of `take`. Without a record the Pod has no owner, and the caller must remove it.
  [[nodiscard]] Task<Result<std::optional<ClaimedPod>>> claim(SandboxSpec spec, std::optional<kube::Object> record);
  /// The second half: tells the agent of a Pod that was taken for the sandbox its environment, labels and lease.
  [[nodiscard]] Task<Result<>> bind(kube::Object pod, SandboxSpec spec);
  /// Creates missing members, and removes surplus ones.
  [[nodiscard]] Task<Result<PoolStatus>> fill(std::string name);

 private:
  class Taking;
  /// The current state of a pool.
  struct View {
    PoolSpec pool;
    kube::Object record;
    std::vector<kube::Object> pods = {};
    std::optional<bool> assigns_ids = {};  ///< see Cluster::assigns_ids; empty: the record does not say it
  };
  /// Reads a pool without its Pods.
  [[nodiscard]] Task<Result<View>> find(std::string name, Cluster::Reading reading = Cluster::Reading::now);
  /// Reads a pool with all Pods, also those that were taken.
  [[nodiscard]] Task<Result<View>> look(std::string name);
  /// The values for a new Pod that are not in its spec.
  [[nodiscard]] Task<Result<ManifestContext>> member_context(std::optional<bool> assigns_ids);
  /// Fills a pool in the background. One task at a time fills a pool; further calls make it run once more.
  void want_filled(std::string name);
  [[nodiscard]] Task<> fill_in_turn(std::string name);
  void note_filling(const std::string& name, std::string trouble);
  [[nodiscard]] Task<std::string> why_short(const View* view);
  [[nodiscard]] Task<Result<std::vector<PoolStatus>>> list_quickly();
  [[nodiscard]] Task<> create_successor(std::string name, std::optional<std::size_t> left);
  [[nodiscard]] Task<Result<>> carry_out(PoolPlan plan, View view);
  [[nodiscard]] Task<Result<>> add_member(const View* view, ManifestContext context, unsigned number);
  [[nodiscard]] Task<Result<>> remove_member(kube::Object pod);
  [[nodiscard]] Task<Result<PoolStatus>> create_and_fill(PoolSpec wanted, std::string creation, SteadyTime deadline,
                                                         Progress progress);
  [[nodiscard]] Task<Result<PoolStatus>> fill_and_wait(std::string name, SteadyTime deadline, Progress progress);
  [[nodiscard]] Task<Result<PoolStatus>> scale_and_fill(std::string name, unsigned size, SteadyTime deadline,
                                                        Progress progress);
  [[nodiscard]] Task<Result<>> wait_until_full(std::string name, unsigned size, SteadyTime deadline, Progress progress);
  /// Null: no watch knows the members.
  [[nodiscard]] PoolTurns* turns();
  [[nodiscard]] Task<Result<std::optional<kube::Object>>> take_member(kube::Object pod, const SandboxSpec* spec,
                                                                      const std::optional<kube::Object>* record);
  /// Takes a Pod that a watch knows, without a read, when it is this caller's turn.
  [[nodiscard]] Task<Result<std::optional<kube::Object>>> take_in_turn(const SandboxSpec* spec,
                                                                       const std::optional<kube::Object>* record);
  /// Waits until another member of that name is wanted; null: it is not wanted any more.
  [[nodiscard]] Task<std::unique_ptr<PodStarts::Permit>> wanted_member(const View* view, std::string name);
  void begin_refill(const std::string& pool, std::optional<std::size_t> left);
  [[nodiscard]] Task<Result<>> create_record(const PoolSpec* wanted, std::string creation);
  /// Removes the pool if it is that of `creation`.
  [[nodiscard]] Task<Result<bool>> take_back(std::string name, std::string creation,
                                             std::chrono::milliseconds patience);
  [[nodiscard]] Task<Result<bool>> remove_within(std::string name, std::chrono::milliseconds patience);

  Cluster* cluster_;
  Reach* reach_;
  std::optional<PoolTurns> turns_;
  std::size_t takes_ = 0;  ///< number of callers that take a member right now
  Event quiet_;            ///< notified when there is none
  TaskGroup successors_;
  std::map<std::string, bool, std::less<>> fillers_;  ///< pools that are being filled; true: fill once more afterwards
  std::map<std::string, std::string, std::less<>> troubles_;  ///< why pools cannot be filled, by pool
  bool is_kept_ = false;                                      ///< this process checks the pools regularly
  std::uint64_t failures_ = 0;                                ///< number of failed attempts to fill a pool
  std::map<std::string, View, std::less<>> views_;            ///< pools as they were last read for a sandbox
};

}  // namespace skiff::container
