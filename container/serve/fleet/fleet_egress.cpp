#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "container/serve/fleet/fleet.hpp"
#include "container/serve/fleet/fleet_change.hpp"
#include "container/serve/fleet/host_rules.hpp"
#include "container/serve/fleet/record_labels.hpp"
#include "container/serve/fleet/templates.hpp"

/// The egress by name of tenants' sandboxes.
namespace skiff::container::serve {

Task<bool> Fleet::closes_by_name(std::string tenant, std::string template_name) {
  const SandboxSpec* const base = templates_->find(template_name);
  auto driver = co_await tenants_->driver(std::move(tenant));
  if (base == nullptr || !driver) co_return false;
  if (!base->pod.pool.empty() || !may_have_egress(**driver, *base)) co_return false;
  co_return co_await (*driver)->offers_egress();
}

Task<Result<bool>> Fleet::is_open(std::string tenant, Sandbox sandbox) {
  SKIFF_CO_TRY(auto driver, co_await tenants_->driver(std::move(tenant)));
  const SandboxSpec* const base = templates_->find(own_label(sandbox, kTemplateLabel));
  if (base == nullptr) co_return false;
  co_return serve::is_open(*driver, *base);
}

bool Fleet::is_narrower(const Driver& driver, const Sandbox& sandbox) const {
  const SandboxSpec* const its = templates_->find(own_label(sandbox, kTemplateLabel));
  // If the template is gone, or somebody else has created the sandbox, the server's own flags decide.
  return !may_have_egress(driver, its == nullptr ? *templates_->find(Templates::kBase) : *its);
}

Task<Result<EgressState>> Fleet::set_egress(std::string tenant, std::string id, EgressChange change) {
  const Change telling{this, tenant, id};
  SKIFF_CO_TRY(auto found, co_await find(std::move(tenant), id, Reading::to_change));
  if (!has_egress(found.sandbox)) {
    co_return fail(Errc::not_supported,
                   "this sandbox has no egress by name, and connections that it has would live on: create it with the "
                   "names that it may reach, or with none",
                   "network");
  }
  if (!change.is_empty() && is_narrower(*found.driver, found.sandbox)) {
    co_return fail(
        Errc::not_supported,
        "the network of this sandbox's template is narrower than names: what it may reach is not changed here",
        "network");
  }
  co_return co_await found.driver->set_egress(std::move(id), std::move(change));
}

Task<Result<>> Fleet::follow_egress_log(std::string tenant, std::string id,
                                        std::function<Result<>(std::string_view lines)> take) {
  SKIFF_CO_TRY(auto found, co_await find(std::move(tenant), id));
  co_return co_await found.driver->follow_egress_log(std::move(id), std::move(take));
}

}  // namespace skiff::container::serve
