#pragma once

#include <optional>
#include <string>

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "container/cluster/cluster.hpp"
#include "container/serve/keys/account_cache.hpp"

namespace skiff::container {

/// Asks the API server whose token it is (TokenReview of authentication.k8s.io/v1), which needs the right to create
/// `tokenreviews`: the ClusterRole system:auth-delegator has it.
class ClusterAccounts final : public serve::TokenReviewer {
 public:
  /// `cluster` must outlive it.
  explicit ClusterAccounts(Cluster* cluster) : cluster_{cluster} {}

  [[nodiscard]] Task<Result<std::optional<serve::Account>>> review(std::string token) override;

 private:
  Cluster* cluster_;
};

}  // namespace skiff::container
