#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/async/semaphore.hpp"
#include "base/async/task.hpp"
#include "base/error.hpp"
#include "container/cluster/cluster.hpp"
#include "container/cluster/pod/pod_manifest.hpp"
#include "container/cluster/reach.hpp"
#include "container/drivers/pods/find.hpp"
#include "container/drivers/pods/pools.hpp"
#include "container/drivers/pods/record.hpp"
#include "container/drivers/pods/remove.hpp"
#include "container/sandbox/driver.hpp"

namespace skiff::container {

/// Hosts sandboxes as Pods of any cluster, without a controller. Each sandbox has a record, a ConfigMap that owns its
/// other objects; a sandbox for one run is a single Pod. If a creation fails, the record is deleted, and with it the
/// other objects.
class PodDriver final : public Driver {
 public:
  /// `cluster` must outlive it.
  PodDriver(Cluster* cluster, ReachOptions reach);

  [[nodiscard]] std::string_view name() const noexcept override { return "pod"; }
  [[nodiscard]] std::string place() const override { return "driver pod, namespace " + cluster_->namespace_name(); }

  [[nodiscard]] Task<Result<Sandbox>> create(SandboxSpec spec, Progress progress) override;
  [[nodiscard]] Task<Result<Sandbox>> get(std::string name) override;
  [[nodiscard]] Task<Result<Sandbox>> get_recent(std::string name) override;
  [[nodiscard]] Task<Result<SandboxPage>> list(SandboxFilter filter) override;
  [[nodiscard]] Task<Result<>> stop(std::string name, Removal how) override;
  [[nodiscard]] Task<Result<Sandbox>> start(std::string name, std::chrono::milliseconds wait,
                                            Progress progress) override;
  [[nodiscard]] Task<Result<>> set_label(std::string name, std::string label, std::string value) override;
  [[nodiscard]] Task<Result<bool>> remove(std::string name, Removal how) override;
  [[nodiscard]] Task<Result<bool>> remove_if(std::string name, std::string id, Removal how) override;
  [[nodiscard]] Task<Result<Sandbox>> extend(std::string name, Lease lease, std::chrono::milliseconds wait) override;
  [[nodiscard]] Task<Result<Endpoint>> endpoint(std::string name, TokenGrant grant) override;
  [[nodiscard]] std::unique_ptr<Freshness> freshness(const std::string& name) override;
  [[nodiscard]] Task<Result<protocol::Stream>> dial(std::string name, std::uint16_t port) override;
  [[nodiscard]] Task<std::vector<Check>> examine() override;
  void keep_copies() override;
  /// Null without copies.
  [[nodiscard]] std::unique_ptr<ListWatch> watch_list(Executor executor, std::function<void()> changed) override;
  [[nodiscard]] Task<> await_copies(SteadyTime until) override;
  [[nodiscard]] Task<Result<>> check_answers() override { return cluster_->check_answers(); }
  [[nodiscard]] Pools* pools() noexcept override { return &pools_; }
  [[nodiscard]] Task<> close() override;

  /// `invalid_field` for a sandbox of one run.
  [[nodiscard]] Task<Result<PodOptions>> set_network(std::string name, std::string network,
                                                     std::vector<std::string> allow) override;
  [[nodiscard]] Task<bool> offers_egress() override;
  [[nodiscard]] Task<Result<EgressState>> set_egress(std::string name, EgressChange change) override;
  [[nodiscard]] Task<Result<std::string>> egress_log(std::string name) override;
  [[nodiscard]] Task<Result<>> follow_egress_log(std::string name,
                                                 std::function<Result<>(std::string_view lines)> take) override;
  [[nodiscard]] Task<Result<std::vector<kube::Object>>> manifest(SandboxSpec spec, bool to_be_applied) override;

 private:
  [[nodiscard]] Task<Result<KnownPod>> find_running(std::string name, Cluster::Reading reading = Cluster::Reading::now);
  /// An error unless it runs. Notes that it was up, if nobody has.
  [[nodiscard]] Task<Result<KnownPod>> check_running(KnownPod known);
  /// Without reading the Pod if its record is sealed and it answers.
  [[nodiscard]] Task<Result<Endpoint>> endpoint_by_record(std::string name, TokenGrant grant);
  [[nodiscard]] Task<Result<ReachTarget>> target_of(const KnownPod* known);
  [[nodiscard]] Task<Result<Endpoint>> endpoint_of(const KnownPod* known, TokenGrant grant);

  /// Makes all checks before a creation, and completes the spec.
  [[nodiscard]] Task<Result<ManifestContext>> prepare(SandboxSpec* spec);
  [[nodiscard]] Task<Result<KnownPod>> make(PodRecord record, bool is_one_shot, ManifestContext context,
                                            Progress progress);
  /// Finishes what another process has begun: it took a Pod from a pool, and was killed before it noted that in the
  /// record. If it lives, both do the same. nullopt if there is no such Pod.
  [[nodiscard]] Task<Result<std::optional<KnownPod>>> adopt(KnownPod known);
  /// Notes that a sandbox from a pool is up. If another process has begun it anew meanwhile, its Pod is given back, and
  /// the result is the other one's.
  [[nodiscard]] Task<Result<KnownPod>> note_taken(KnownPod known, SteadyTime deadline, Progress progress);
  /// Waits for a sandbox that another process creates or starts.
  [[nodiscard]] Task<Result<Sandbox>> wait_for_others(KnownPod known, SteadyTime deadline, Progress progress);
  /// Creates the objects again from the record, without undoing anything. `mark` identifies this `start`
  /// (creation_mark.hpp). nullopt if the record has changed since it was read: another `start` may have come first, and
  /// its objects are not touched.
  [[nodiscard]] Task<Result<std::optional<KnownPod>>> create_again(KnownPod known, std::string mark,
                                                                   SteadyTime deadline, Progress progress);
  /// Undoes `create_again` (undo_unless.hpp). Does nothing if there is no Pod, or if it belongs to another `start`.
  [[nodiscard]] Task<Result<bool>> stop_again(std::string name, std::string uid, std::string mark,
                                              std::chrono::milliseconds patience);
  [[nodiscard]] Task<Result<>> stop_known(KnownPod known, Removal how);

  /// Deletes the sandbox, without waiting; nullopt if there is none, or if it is to stay.
  [[nodiscard]] Task<Result<std::optional<Departure>>> begin_removing(std::string name, std::string id, Removal how);

  [[nodiscard]] Task<Result<>> ask_agent(const KnownPod* known);
  /// Waits until the agent of a ready Pod answers.
  [[nodiscard]] Task<Result<KnownPod>> wait_for_agent(KnownPod known, SteadyTime deadline, Progress progress);

  /// Also waits for the external address of its Service if that is required.
  [[nodiscard]] Task<Result<KnownPod>> wait_until_up(KnownPod known, SteadyTime deadline, Progress progress);

  Cluster* cluster_;
  Reach reach_;
  PodPools pools_;
  Semaphore removals_;         ///< held while deleting, not while waiting
  std::size_t under_way_ = 0;  ///< number of removals, also of those that wait
};

}  // namespace skiff::container
