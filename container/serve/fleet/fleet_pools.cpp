#include <string>
#include <utility>
#include <vector>

#include "base/log/log.hpp"
#include "container/serve/fleet/fleet.hpp"

/// The pools of the tenants' namespaces.
namespace skiff::container::serve {

Task<Result<std::vector<PoolStatus>>> Fleet::pools(std::string tenant) {
  SKIFF_CO_TRY(auto driver, co_await tenants_->driver(std::move(tenant)));
  if (driver->pools() == nullptr) co_return std::vector<PoolStatus>{};
  co_return co_await driver->pools()->list();
}

Task<Result<PoolStatus>> Fleet::pool(std::string tenant, std::string name) {
  SKIFF_CO_TRY(auto driver, co_await tenants_->driver(std::move(tenant)));
  if (driver->pools() != nullptr && check_pool_name(name)) {
    auto status = co_await driver->pools()->status(name);
    if (status || status.error().code != Errc::not_found) co_return status;
  }
  co_return fail(Errc::not_found, "there is no pool \"" + name + "\"", "id");
}

Task<Result<PoolHealth>> Fleet::heal_pools() {
  SKIFF_CO_TRY(auto all, co_await keys_->tenants());
  PoolHealth sum;
  LabelledNumbers seen = FleetCounts::no_pools();
  for (const std::string& tenant : all) {
    auto driver = co_await tenants_->driver(tenant);
    if (!driver || (*driver)->pools() == nullptr || !co_await (*driver)->check_answers()) continue;
    auto health = co_await (*driver)->pools()->heal();
    if (!health) {
      log::warning("cannot check the pools", {{"tenant", tenant}, {"error", health.error().message}});
      continue;
    }
    sum.missing += health->missing;
    sum.failures += health->failures;
    for (const PoolStatus& pool : health->pools) note_pool(&seen, tenant, pool);
  }
  counts_.pools = std::move(seen);
  co_return sum;
}

}  // namespace skiff::container::serve
