#include "container/cli/hosted_tenants.hpp"

#include <utility>

namespace skiff::container {

Task<Result<Driver*>> HostedTenants::driver(std::string tenant) {
  SKIFF_CO_TRY(auto own, co_await context_->driver());
  if (is_of_this_machine(own->name())) co_return own;
  auto& there = namespaces_[tenant];
  if (!there) there = std::make_unique<Context>(context_->in_namespace(tenant));
  SKIFF_CO_TRY(auto driver, co_await there->driver());
  driver->keep_copies();
  co_return driver;
}

Task<> HostedTenants::close() {
  for (auto& [name, context] : namespaces_) co_await context->close();
  namespaces_.clear();
}

}  // namespace skiff::container
