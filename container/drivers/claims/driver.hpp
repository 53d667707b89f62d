#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/async/semaphore.hpp"
#include "container/cluster/cluster.hpp"
#include "container/cluster/reach.hpp"
#include "container/drivers/claims/create.hpp"
#include "container/drivers/claims/look.hpp"
#include "container/drivers/claims/objects.hpp"
#include "container/drivers/claims/pools.hpp"
#include "container/sandbox/driver.hpp"

namespace skiff::container {

/// Sandboxes that the controller of kubernetes-sigs/agent-sandbox hosts: with a pool or a template a SandboxClaim, else
/// a bare Sandbox. That object stores the sandbox's state. The lease is also the object's lifetime: at its end the
/// controller deletes a claim with all its objects; a Sandbox stays as `ended` and can be started again. A sandbox
/// whose Pod the controller has replaced is `failed` until it is started (look.hpp).
class ClaimDriver final : public Driver {
 public:
  /// `cluster` must outlive it.
  ClaimDriver(Cluster* cluster, ReachOptions reach);

  [[nodiscard]] std::string_view name() const noexcept override { return "claim"; }
  [[nodiscard]] std::string place() const override { return "driver claim, namespace " + cluster_->namespace_name(); }
  [[nodiscard]] Task<Result<Sandbox>> create(SandboxSpec spec, Progress progress) override;
  /// In all calls, the name "claim/NAME" means a claim that skiff did not create.
  [[nodiscard]] Task<Result<Sandbox>> get(std::string name) override;
  /// Lists claims before Sandboxes; each page is sorted by name.
  [[nodiscard]] Task<Result<SandboxPage>> list(SandboxFilter filter) override;
  [[nodiscard]] Task<Result<>> stop(std::string name, Removal how) override;
  [[nodiscard]] Task<Result<Sandbox>> start(std::string name, std::chrono::milliseconds wait,
                                            Progress progress) override;
  [[nodiscard]] Task<Result<>> set_label(std::string name, std::string label, std::string value) override;
  [[nodiscard]] Task<Result<bool>> remove(std::string name, Removal how) override;
  [[nodiscard]] Task<Result<bool>> remove_if(std::string name, std::string id, Removal how) override;
  [[nodiscard]] Task<Result<Sandbox>> extend(std::string name, Lease lease, std::chrono::milliseconds wait) override;
  [[nodiscard]] Task<Result<Endpoint>> endpoint(std::string name, TokenGrant grant) override;
  [[nodiscard]] Task<Result<protocol::Stream>> dial(std::string name, std::uint16_t port) override;
  [[nodiscard]] Task<std::vector<Check>> examine() override;
  /// `invalid_field`: the network of agent-sandbox's sandboxes cannot be changed.
  [[nodiscard]] Task<Result<PodOptions>> set_network(std::string name, std::string network,
                                                     std::vector<std::string> allow) override;
  /// The manifest does not contain the values that a claim's agent gets once it runs (environment, idle time).
  [[nodiscard]] Task<Result<std::vector<kube::Object>>> manifest(SandboxSpec spec, bool to_be_applied) override;
  void keep_copies() override;
  [[nodiscard]] Task<Result<>> check_answers() override { return cluster_->check_answers(); }
  [[nodiscard]] Task<> close() override;

  [[nodiscard]] Pools* pools() noexcept override { return &pools_; }

 private:
  /// One page of one kind; its `next` leads to the other kind.
  [[nodiscard]] Task<Result<SandboxPage>> list_some(SandboxFilter filter);
  /// Finds the claim, or the bare Sandbox.
  [[nodiscard]] Task<Result<kube::Object>> find(std::string name);
  [[nodiscard]] Task<Result<ClaimView>> look(kube::Object object);
  /// Also brings up a sandbox whose creator was killed before it noted that the sandbox is up.
  [[nodiscard]] Task<Result<ClaimView>> find_running(std::string name);
  [[nodiscard]] static Result<ReachTarget> target_of(const ClaimView& view);
  [[nodiscard]] Task<Result<Endpoint>> endpoint_of(ReachTarget target, std::string owner, TokenGrant grant);

  /// Waits until `awaited` is ready, and greets its agent. `lost_with` is noted (noted_pod.hpp).
  [[nodiscard]] Task<Result<Sandbox>> bring_up(kube::Object object, kube::Object awaited, bool is_new,
                                               std::string lost_with, SteadyTime deadline, Progress progress);
  /// Waits until the agent answers, sends it the values that a template cannot contain, and notes that the sandbox is
  /// up. Returns the object with the note.
  [[nodiscard]] Task<Result<kube::Object>> greet(ClaimView view, bool is_new, std::string lost_with,
                                                 SteadyTime deadline);
  [[nodiscard]] Task<Result<>> bind(const kube::Object* object, Endpoint endpoint, bool is_new);
  [[nodiscard]] Task<Result<kube::Object>> patch(kube::Object object, nlohmann::json patch);
  [[nodiscard]] Task<Result<bool>> stop_again(kube::Object object, std::chrono::milliseconds patience);
  /// Returns the suspended Sandbox. `lost_with` is noted (noted_pod.hpp).
  [[nodiscard]] Task<Result<kube::Object>> suspend(kube::Object object, std::string lost_with, Removal how);
  /// Resumes a suspended object; `sandbox` is its Sandbox.
  [[nodiscard]] Task<Result<Sandbox>> resume(kube::Object object, kube::Object sandbox, std::string lost_with,
                                             SteadyTime deadline, Progress progress);
  [[nodiscard]] Task<Result<Sandbox>> make(ClaimPlan plan, SteadyTime deadline, Progress progress);
  /// Removes the object with that mark (creation_mark.hpp), if there is one.
  [[nodiscard]] Task<Result<bool>> withdraw(std::string name, std::string creation, std::chrono::milliseconds patience);
  [[nodiscard]] Task<Result<>> remove_found(kube::Object object, Removal how);

  Cluster* cluster_;
  Reach reach_;
  ClaimPools pools_;
  Semaphore removals_;  ///< limits removals, each of which has watches of its own
};

}  // namespace skiff::container
