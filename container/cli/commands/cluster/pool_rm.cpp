#include <utility>

#include <nlohmann/json.hpp>

#include "container/cli/commands/cluster/pool_table.hpp"
#include "container/cli/commands/commands.hpp"
#include "container/cli/flags/dry_run.hpp"

namespace skiff::container {
namespace {

class PoolRm final : public Invocation {
 public:
  std::vector<Setting> rows() override {
    return {dry_run_.row("Only print the names of those that would be removed.")};
  }

  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    SKIFF_CO_TRY(auto pools, co_await pools_of(&context));
    nlohmann::json removed = nlohmann::json::array();
    std::string names;
    for (const std::string& name : arguments.words) {
      Task<Result<bool>> removing = dry_run_.is_wanted() ? exists(pools, name) : pools->remove(name);
      SKIFF_CO_TRY(auto one, co_await std::move(removing));
      if (!one) continue;
      removed.push_back(name);
      names += name + "\n";
    }
    SKIFF_CO_TRY_VOID(context.show({{"removed", std::move(removed)}}, names, names));
    co_return 0;
  }

 private:
  static Task<Result<bool>> exists(Pools* pools, std::string name) {
    auto found = co_await pools->status(std::move(name));
    if (!found && found.error().code == Errc::not_found) co_return false;
    if (!found) co_return std::unexpected{std::move(found.error())};
    co_return true;
  }

  DryRun dry_run_;
};

}  // namespace

Command pool_rm_command() {
  return {.name = "pool rm",
          .group = "Pools",
          .summary = "remove pools and the sandboxes that wait in them",
          .text = "Sandboxes that were taken out of a pool are kept. A pool that does not exist is not an error.",
          .words = {{.name = "POOL", .repeated = true}},
          .make = &create_invocation<PoolRm>};
}

}  // namespace skiff::container
