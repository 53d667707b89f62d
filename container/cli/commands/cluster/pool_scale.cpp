#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "container/cli/commands/cluster/pool_table.hpp"
#include "container/cli/commands/commands.hpp"
#include "container/cli/flags/dry_run.hpp"

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
            {.flag = "size",
             .target = setting::Count{&size_, 0, kLargestPool},
             .value = "NUMBER",
             .help = "How many sandboxes wait in the pool, as SIZE says it."},
            {.flag = "replicas",
             .target = setting::Count{&size_, 0, kLargestPool},
             .value = "NUMBER",
             .help = "As --size."},
            dry_run_.row("Only print the pool with the size that it would have.")};
  }

  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    SKIFF_CO_TRY(auto pools, co_await pools_of(&context));
    const std::string name = arguments.words.at(0);
    SKIFF_CO_TRY(const unsigned size, wanted_size(arguments));
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
  /// The size, which must be given exactly once, in one of three ways.
  Result<unsigned> wanted_size(const SettingsTable::Arguments& arguments) const {
    const auto is_given = [&](std::string_view flag) { return std::ranges::count(arguments.given, flag); };
    const auto ways = is_given("--size") + is_given("--replicas") + (arguments.words.size() > 1 ? 1 : 0);
    if (ways != 1) {
      return fail(Errc::invalid_field,
                  ways == 0 ? "say the size: `skiff pool scale POOL SIZE`, or --size, or --replicas"
                            : "the size is said more than once",
                  "SIZE");
    }
    if (arguments.words.size() == 1) return static_cast<unsigned>(size_);
    const std::string& text = arguments.words.at(1);
    unsigned size = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
    if (error == std::errc{} && end == text.data() + text.size() && size <= kLargestPool) return size;
    return fail(Errc::invalid_field, "SIZE \"" + text + "\": expected a number from 0 to 1000", "SIZE");
  }

  std::uint64_t size_ = 0;
  std::chrono::milliseconds wait_ = 120s;
  DryRun dry_run_;
};

}  // namespace

Command pool_scale_command() {
  return {.name = "pool scale",
          .group = "Pools",
          .summary = "change how many sandboxes wait in a pool",
          .text = "A smaller size never ends a sandbox that was taken from the pool.",
          .words = {{.name = "POOL"}, {.name = "SIZE", .optional = true}},
          .makes_sandboxes = true,
          .make = &create_invocation<PoolScale>};
}

}  // namespace skiff::container
