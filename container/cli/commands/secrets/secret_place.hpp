#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "container/cli/context.hpp"
#include "container/egress/terminate/secret.hpp"

namespace skiff::container {

/// Keeps the secrets of sandboxes: those of boxes on this machine, those of Pods beside the egress proxy of their
/// namespace.
class SecretPlace {
 public:
  SecretPlace() = default;
  virtual ~SecretPlace() = default;
  SecretPlace(const SecretPlace&) = delete;
  SecretPlace& operator=(const SecretPlace&) = delete;

  [[nodiscard]] virtual Task<Result<>> set(egress::Secret secret) = 0;
  /// Sorted by name.
  [[nodiscard]] virtual Task<Result<std::vector<egress::Secret>>> list() = 0;
  [[nodiscard]] virtual Task<Result<>> remove(std::string name) = 0;
};

/// The place for sandboxes of the selected driver. `context` outlives it.
[[nodiscard]] Task<Result<std::unique_ptr<SecretPlace>>> find_secret_place(Context* context);

}  // namespace skiff::container
