#include <utility>

#include "container/cli/commands.hpp"
#include "container/cli/pool_table.hpp"

namespace skiff::container {
namespace {

class PoolStatusOf final : public Invocation {
 public:
  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    auto pools = co_await pools_of(&context);
    if (!pools) co_return std::unexpected{std::move(pools.error())};
    Result<> shown;
    if (arguments.words.empty()) {
      auto all = co_await (*pools)->list();
      if (!all) co_return std::unexpected{std::move(all.error())};
      shown = show_pools(context, *all);
    } else {
      auto one = co_await (*pools)->status(arguments.words.front());
      if (!one) co_return std::unexpected{std::move(one.error())};
      shown = show_pool(context, *one);
    }
    if (!shown) co_return std::unexpected{std::move(shown.error())};
    co_return 0;
  }
};

}  // namespace

Command pool_status_command() {
  return {.name = "pool status",
          .group = "Pools",
          .summary = "show how many sandboxes of a pool are available, active, all and wanted",
          .text = "Without a name: all pools of the namespace.",
          .words = {{.name = "POOL", .optional = true}},
          .make = &make_invocation<PoolStatusOf>};
}

}  // namespace skiff::container
