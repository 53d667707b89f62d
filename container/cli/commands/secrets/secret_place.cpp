#include "container/cli/commands/secrets/secret_place.hpp"

#include <utility>

#include "base/small_file.hpp"
#include "container/drivers/pods/egress/secrets.hpp"
#include "container/host/state_directory.hpp"

namespace skiff::container {
namespace {

class OnThisMachine final : public SecretPlace {
 public:
  explicit OnThisMachine(egress::SecretStore store) : store_{std::move(store)} {}

  Task<Result<>> set(egress::Secret secret) override {
    auto kept = store_.set(secret);
    wipe(secret.value);
    co_return kept;
  }
  Task<Result<std::vector<egress::Secret>>> list() override {
    SKIFF_CO_TRY(const auto names, store_.names());
    std::vector<egress::Secret> all;
    for (const std::string& name : names) {
      SKIFF_CO_TRY(auto secret, store_.get(name));
      all.push_back(std::move(secret));
    }
    co_return all;
  }
  Task<Result<>> remove(std::string name) override { co_return store_.remove(name); }

 private:
  egress::SecretStore store_;
};

class InACluster final : public SecretPlace {
 public:
  explicit InACluster(Cluster* cluster) : cluster_{cluster} {}

  Task<Result<>> set(egress::Secret secret) override { return set_egress_secret(cluster_, std::move(secret)); }
  Task<Result<std::vector<egress::Secret>>> list() override { return list_egress_secrets(cluster_); }
  Task<Result<>> remove(std::string name) override { return remove_egress_secret(cluster_, std::move(name)); }

 private:
  Cluster* cluster_;
};

}  // namespace

Task<Result<std::unique_ptr<SecretPlace>>> find_secret_place(Context* context) {
  SKIFF_CO_TRY(const auto* driver, co_await context->driver());
  if (driver->name() == "pod") {
    SKIFF_CO_TRY(auto* cluster, context->cluster());
    co_return std::make_unique<InACluster>(cluster);
  }
  SKIFF_CO_TRY(const auto state, StateDirectory::open({}));
  co_return std::make_unique<OnThisMachine>(egress::SecretStore{state.path()});
}

}  // namespace skiff::container
