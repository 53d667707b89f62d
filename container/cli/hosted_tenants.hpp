#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/async/task.hpp"
#include "base/error.hpp"
#include "container/cli/context.hpp"
#include "container/serve/fleet/tenants.hpp"

namespace skiff::container {

/// The tenants of a server that uses the command line's driver. In a cluster each tenant has the namespace of its name;
/// on this machine all share one driver.
class HostedTenants final : public serve::Tenants {
 public:
  /// `context` must outlive it.
  explicit HostedTenants(Context* context) : context_{context} {}

  [[nodiscard]] Task<Result<Driver*>> driver(std::string tenant) override;
  /// Ends the drivers' connections; call it before the object is destroyed.
  [[nodiscard]] Task<> close();

 private:
  Context* context_;
  std::map<std::string, std::unique_ptr<Context>> namespaces_;
};

}  // namespace skiff::container
