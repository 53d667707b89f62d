#include <utility>

#include <nlohmann/json.hpp>

#include "container/cli/commands/commands.hpp"
#include "container/cli/commands/pool_table.hpp"

namespace skiff::container {
namespace {

class PoolRm final : public Invocation {
 public:
  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    auto pools = co_await pools_of(&context);
    if (!pools) co_return std::unexpected{std::move(pools.error())};
    nlohmann::json removed = nlohmann::json::array();
    std::string names;
    for (const std::string& name : arguments.words) {
      auto one = co_await (*pools)->remove(name);
      if (!one) co_return std::unexpected{std::move(one.error())};
      if (!*one) continue;
      removed.push_back(name);
      names += name + "\n";
    }
    if (auto shown = context.show({{"removed", std::move(removed)}}, names, names); !shown) {
      co_return std::unexpected{std::move(shown.error())};
    }
    co_return 0;
  }
};

}  // namespace

Command pool_rm_command() {
  return {.name = "pool rm",
          .group = "Pools",
          .summary = "remove pools and what waits in them",
          .text = "What was taken out of a pool stays. A pool that does not exist is not an error.",
          .words = {{.name = "POOL", .repeated = true}},
          .make = &make_invocation<PoolRm>};
}

}  // namespace skiff::container
