#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/error.hpp"
#include "base/task.hpp"
#include "container/launcher/cluster.hpp"
#include "container/launcher/driver.hpp"
#include "container/launcher/pod_lookup.hpp"
#include "container/launcher/pod_manifest.hpp"
#include "container/launcher/pod_pools.hpp"
#include "container/launcher/pod_record.hpp"
#include "container/launcher/reach.hpp"

namespace skiff::container {

/// Hosts sandboxes as Pods of any cluster, without a controller. A ConfigMap is the record of each and owns all the
/// rest; what is for one run is a single Pod. Where something goes wrong half way the record goes, and with it the
/// rest.
class PodDriver final : public Driver {
 public:
  /// `cluster` must outlive it.
  PodDriver(Cluster* cluster, ReachOptions reach);

  [[nodiscard]] std::string_view name() const noexcept override { return "pod"; }

  [[nodiscard]] Task<Result<Sandbox>> create(SandboxSpec spec, Progress progress) override;
  [[nodiscard]] Task<Result<Sandbox>> get(std::string name) override;
  [[nodiscard]] Task<Result<SandboxPage>> list(SandboxFilter filter) override;
  [[nodiscard]] Task<Result<>> stop(std::string name) override;
  [[nodiscard]] Task<Result<Sandbox>> start(std::string name, std::chrono::milliseconds wait,
                                            Progress progress) override;
  [[nodiscard]] Task<Result<bool>> remove(std::string name) override;
  [[nodiscard]] Task<Result<Sandbox>> extend(std::string name, Lease lease) override;
  [[nodiscard]] Task<Result<Endpoint>> endpoint(std::string name, TokenGrant grant) override;
  [[nodiscard]] Task<Result<protocol::Stream>> dial(std::string name, std::uint16_t port) override;
  [[nodiscard]] Task<std::vector<Check>> examine() override;
  [[nodiscard]] Pools* pools() noexcept override { return &pools_; }
  [[nodiscard]] Task<> close() override;

  /// What `create` would make, in its order; nothing is made. Without owner references, which need uids.
  [[nodiscard]] Task<Result<std::vector<kube::Object>>> manifest(SandboxSpec spec);

 private:
  [[nodiscard]] Task<Result<KnownPod>> find_running(std::string name);
  [[nodiscard]] Task<Result<ReachTarget>> target_of(const KnownPod* known);
  [[nodiscard]] Task<Result<Endpoint>> endpoint_of(const KnownPod* known, TokenGrant grant);

  [[nodiscard]] Task<Result<ManifestContext>> prepare(SandboxSpec* spec);
  [[nodiscard]] Task<Result<KnownPod>> make_all(PodRecord record, bool is_one_shot, ManifestContext context,
                                                Progress progress);
  [[nodiscard]] Task<Result<KnownPod>> bring_up(PodRecord record, std::optional<kube::Object> config_map,
                                                ManifestContext context, Progress progress);
  /// One out of the pool that the spec names, with all that belongs to it; nothing when none is ready.
  [[nodiscard]] Task<Result<std::optional<KnownPod>>> take_warm(PodRecord record, kube::Object config_map,
                                                                ManifestContext context, Progress progress);
  [[nodiscard]] Task<Result<>> make_surroundings(const PodRecord* record, const kube::Object* config_map,
                                                 const ManifestContext* context);
  [[nodiscard]] Task<Result<kube::Object>> make(kube::Resource resource, kube::Object object);
  [[nodiscard]] Task<Result<>> remove_pod(std::string namespace_name, std::string pod);
  [[nodiscard]] Task<Result<>> remove_object(kube::Resource resource, std::string namespace_name, std::string name);
  /// With an id only the sandbox that has it.
  [[nodiscard]] Task<Result<bool>> remove_if(std::string name, std::string id);
  [[nodiscard]] Task<Result<>> remove_recorded(const KnownPod* known);
  [[nodiscard]] Task<Result<kube::Object>> change_record(const KnownPod* known, nlohmann::json data);

  Cluster* cluster_;
  Reach reach_;
  PodPools pools_;
};

}  // namespace skiff::container
