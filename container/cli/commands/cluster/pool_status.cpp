#include <string>
#include <utility>
#include <vector>

#include "container/cli/commands/cluster/pool_table.hpp"
#include "container/cli/commands/commands.hpp"
#include "container/cli/output/output.hpp"

namespace skiff::container {
namespace {

class PoolStatusOf final : public Invocation {
 public:
  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    SKIFF_CO_TRY(auto pools, co_await pools_of(&context));
    std::vector<PoolStatus> all;
    Result<> shown;
    if (arguments.words.empty()) {
      SKIFF_CO_TRY(all, co_await pools->list());
      shown = show_pools(context, all);
    } else {
      SKIFF_CO_TRY(auto one, co_await pools->status(arguments.words.front()));
      shown = show_pool(context, one);
      all.push_back(std::move(one));
    }
    if (!shown) co_return std::unexpected{std::move(shown.error())};
    // Without a controller, a skiff that was interrupted may have left the pool too small.
    auto driver = co_await context.driver();
    if (!driver || (*driver)->name() != "pod" || context.options().quiet) co_return 0;
    for (const PoolStatus& pool : all) {
      const unsigned waiting = pool.waiting();
      if (waiting >= pool.target) continue;
      const std::string target = std::to_string(pool.target);
      std::string line = "pool " + pool.name + ": " + std::to_string(waiting);
      line.append(" of ").append(target).append(" are there; `skiff pool scale ").append(pool.name);
      say(line.append(" ").append(target).append("` makes the others") +
          (pool.reason.empty() ? "" : "; " + pool.reason));
    }
    co_return 0;
  }
};

}  // namespace

Command pool_status_command() {
  return {.name = "pool status",
          .group = "Pools",
          .summary = "show the available, active, total and desired number of sandboxes of a pool",
          .text = "Without a name: all pools of the namespace.",
          .words = {{.name = "POOL", .optional = true}},
          .make = &create_invocation<PoolStatusOf>};
}

}  // namespace skiff::container
