#pragma once

#include <optional>
#include <string>
#include <vector>

#include "container/cluster/cluster.hpp"
#include "container/drivers/claims/objects.hpp"
#include "container/sandbox/pools.hpp"

namespace skiff::container {

/// Pools of agent-sandbox's controller: a SandboxTemplate that runs skiffd, and a SandboxWarmPool of the same name,
/// which are removed together. Reactor thread only; the cluster must outlive it.
class ClaimPools final : public Pools {
 public:
  explicit ClaimPools(Cluster* cluster) : cluster_{cluster} {}

  /// With `template_name` only the pool is created, from an existing template.
  [[nodiscard]] Task<Result<PoolStatus>> create(PoolSpec wanted, Progress progress) override;
  [[nodiscard]] Task<Result<PoolStatus>> scale(std::string name, unsigned size, std::chrono::milliseconds wait,
                                               Progress progress) override;
  [[nodiscard]] Task<Result<PoolStatus>> status(std::string name) override;
  [[nodiscard]] Task<Result<std::vector<PoolStatus>>> list() override;
  [[nodiscard]] Task<Result<bool>> remove(std::string name) override;
  [[nodiscard]] Task<Result<std::vector<kube::Object>>> manifest_of(PoolSpec wanted) override;

  /// The API version of the cluster, which is read once. `not_supported` if it has none.
  [[nodiscard]] Task<Result<SandboxApi>> api();
  /// The pool's object; `not_found` says how to create one.
  [[nodiscard]] Task<Result<kube::Object>> find(std::string name);
  /// The pool of that template with the most ready sandboxes; `not_found` says how to create one.
  [[nodiscard]] Task<Result<std::string>> pool_of_template(std::string template_name);

 private:
  [[nodiscard]] Task<Result<PoolStatus>> create_and_fill(PoolSpec wanted, SandboxApi api, std::string creation,
                                                         SteadyTime deadline, Progress progress);
  [[nodiscard]] Task<Result<PoolStatus>> scale_and_wait(std::string name, unsigned size, SteadyTime deadline,
                                                        Progress progress);
  [[nodiscard]] Task<Result<PoolStatus>> wait_until_full(kube::Object pool, SteadyTime deadline, Progress progress);
  [[nodiscard]] Task<Result<kube::Object>> plan_template(const PoolSpec* wanted, SandboxApi api);
  /// Creates the template, and the policy that goes with it.
  [[nodiscard]] Task<Result<kube::Object>> make_template(const PoolSpec* wanted, SandboxApi api, std::string creation);
  /// Creates the pool, after its template if it has one of its own. Both are marked with `creation`.
  [[nodiscard]] Task<Result<kube::Object>> make(const PoolSpec* wanted, SandboxApi api, std::string creation);
  /// Removes the objects with the mark `creation`.
  [[nodiscard]] Task<Result<bool>> take_back(std::string name, SandboxApi api, std::string creation,
                                             std::chrono::milliseconds patience);
  [[nodiscard]] Task<Result<bool>> remove_within(std::string name, std::chrono::milliseconds patience);
  [[nodiscard]] Task<Result<std::map<std::string, unsigned>>> count_claims();

  Cluster* cluster_;
  std::optional<SandboxApi> api_;
};

}  // namespace skiff::container
