#include <cstdint>
#include <utility>

#include "container/cli/commands/cluster/pool_table.hpp"
#include "container/cli/commands/commands.hpp"
#include "container/cli/flags/dry_run.hpp"
#include "container/cli/flags/spec_flags.hpp"

namespace skiff::container {
namespace {

class PoolCreate final : public Invocation {
 public:
  std::vector<Setting> rows() override {
    std::vector<Setting> rows = spec_.rows_of_a_pool();
    rows.push_back({.flag = "size",
                    .target = setting::Count{&size_, 0, kLargestPool},
                    .value = "NUMBER",
                    .help = "How many sandboxes wait in the pool."});
    rows.push_back({.flag = "replicas",
                    .target = setting::Count{&size_, 0, kLargestPool},
                    .value = "NUMBER",
                    .help = "As --size."});
    rows.push_back(dry_run_.row("Only print the pool that would be created."));
    return rows;
  }

  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    SKIFF_CO_TRY(auto pools, co_await pools_of(&context));
    const std::string name = arguments.words.at(0);
    SKIFF_CO_TRY(auto spec, spec_.spec(name, context.options().owner, arguments.given));
    PoolSpec wanted{.name = name, .size = static_cast<unsigned>(size_), .sandbox = std::move(spec)};
    if (dry_run_.is_wanted()) co_return co_await show_planned(&context, pools, std::move(wanted));
    Progress progress = context.progress("pool " + name);
    SKIFF_CO_TRY(auto made, co_await pools->create(std::move(wanted), std::move(progress)));
    SKIFF_CO_TRY_VOID(show_pool(context, made));
    co_return 0;
  }

 private:
  Task<Result<int>> show_planned(const Context* context, Pools* pools, PoolSpec wanted) const {
    SKIFF_CO_TRY_VOID(check_pool(wanted));
    if (!dry_run_.asks_nobody()) {
      auto there = co_await pools->status(wanted.name);
      if (there) co_return fail(Errc::already_exists, "there is a pool \"" + wanted.name + "\"", "name");
      if (there.error().code != Errc::not_found) co_return std::unexpected{std::move(there.error())};
    }
    const PoolStatus planned{.name = std::move(wanted.name), .target = wanted.size};
    SKIFF_CO_TRY_VOID(show_pool(*context, planned));
    co_return 0;
  }

  SpecFlags spec_;
  std::uint64_t size_ = 1;
  DryRun dry_run_;
};

}  // namespace

Command pool_create_command() {
  return {.name = "pool create",
          .group = "Pools",
          .summary = "create sandboxes in advance",
          .text =
              "  skiff pool create python --image python:3.12-slim --size 5\n"
              "  skiff up demo --pool python --env GREETING=hello --ttl 1h\n"
              "A sandbox from the pool is ready immediately; the pool is refilled.",
          .words = {{.name = "POOL"}},
          .makes_sandboxes = true,
          .make = &create_invocation<PoolCreate>};
}

}  // namespace skiff::container
