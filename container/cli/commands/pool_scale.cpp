#include <charconv>
#include <chrono>
#include <utility>

#include "container/cli/commands/commands.hpp"
#include "container/cli/commands/pool_table.hpp"

namespace skiff::container {
namespace {

using namespace std::chrono_literals;

class PoolScale final : public Invocation {
 public:
  std::vector<Setting> rows() override {
    return {{.flag = "wait",
             .environment = "",
             .target = setting::Duration{&wait_, 100ms, std::chrono::days{1}},
             .value = "TIME",
             .group = "",
             .help = "Longest time until the new ones are ready."}};
  }

  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    auto pools = co_await pools_of(&context);
    if (!pools) co_return std::unexpected{std::move(pools.error())};
    const std::string name = arguments.words.at(0);
    const std::string& text = arguments.words.at(1);
    unsigned size = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
    if (error != std::errc{} || end != text.data() + text.size() || size > kLargestPool) {
      co_return fail(Errc::invalid_field, "SIZE \"" + text + "\": expected a number from 0 to 1000", "SIZE");
    }
    Progress progress = context.progress("pool " + name);
    auto scaled = co_await (*pools)->scale(name, size, wait_, std::move(progress));
    if (!scaled) co_return std::unexpected{std::move(scaled.error())};
    if (auto shown = show_pool(context, *scaled); !shown) co_return std::unexpected{std::move(shown.error())};
    co_return 0;
  }

 private:
  std::chrono::milliseconds wait_ = 120s;
};

}  // namespace

Command pool_scale_command() {
  return {.name = "pool scale",
          .group = "Pools",
          .summary = "change how many sandboxes wait in a pool",
          .text = "Less never ends one that was taken.",
          .words = {{.name = "POOL"}, {.name = "SIZE"}},
          .makes_sandboxes = true,
          .make = &make_invocation<PoolScale>};
}

}  // namespace skiff::container
