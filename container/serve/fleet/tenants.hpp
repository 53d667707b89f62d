#pragma once

#include <string>

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "container/sandbox/driver.hpp"

namespace skiff::container::serve {

/// The hosts of the tenants' sandboxes. Reactor thread only.
class Tenants {
 public:
  Tenants() = default;
  Tenants(const Tenants&) = delete;
  Tenants& operator=(const Tenants&) = delete;
  virtual ~Tenants() = default;

  /// The driver of a tenant's namespace. Without namespaces all tenants share one driver, and the owners distinguish
  /// their sandboxes. The driver lives as long as this object.
  [[nodiscard]] virtual Task<Result<Driver*>> driver(std::string tenant) = 0;
};

}  // namespace skiff::container::serve
