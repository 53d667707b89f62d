#include <charconv>
#include <chrono>
#include <utility>

#include "container/cli/commands/commands.hpp"
#include "container/cli/commands/pool_table.hpp"
#include "container/cli/dry_run.hpp"

namespace skiff::container {
namespace {

using namespace std::chrono_literals;

class PoolScale final : public Invocation {
 public:
  std::vector<Setting> rows() override {
    return {{.flag = "wait",
             .target = setting::Duration{&wait_, 100ms, std::chrono::days{1}},
             .value = "TIME",
             .help = "Longest time until the new ones are ready."},
            dry_run_.row("Only print the pool with the size that it would have.")};
  }

  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    SKIFF_CO_TRY(auto pools, co_await pools_of(&context));
    const std::string name = arguments.words.at(0);
    const std::string& text = arguments.words.at(1);
    unsigned size = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
    if (error != std::errc{} || end != text.data() + text.size() || size > kLargestPool) {
      co_return fail(Errc::invalid_field, "SIZE \"" + text + "\": expected a number from 0 to 1000", "SIZE");
    }
    if (dry_run_.is_wanted()) {
      SKIFF_CO_TRY(auto planned, co_await pools->status(name));
      planned.target = size;
      SKIFF_CO_TRY_VOID(show_pool(context, planned));
      co_return 0;
    }
    Progress progress = context.progress("pool " + name);
    SKIFF_CO_TRY(auto scaled, co_await pools->scale(name, size, wait_, std::move(progress)));
    SKIFF_CO_TRY_VOID(show_pool(context, scaled));
    co_return 0;
  }

 private:
  std::chrono::milliseconds wait_ = 120s;
  DryRun dry_run_;
};

}  // namespace

Command pool_scale_command() {
  return {.name = "pool scale",
          .group = "Pools",
          .summary = "change how many sandboxes wait in a pool",
          .text = "A smaller size never ends a sandbox that was taken from the pool.",
          .words = {{.name = "POOL"}, {.name = "SIZE"}},
          .makes_sandboxes = true,
          .make = &make_invocation<PoolScale>};
}

}  // namespace skiff::container
