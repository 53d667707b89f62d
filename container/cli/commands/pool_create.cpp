#include <cstdint>
#include <utility>

#include "container/cli/commands/commands.hpp"
#include "container/cli/commands/pool_table.hpp"
#include "container/cli/spec_flags.hpp"

namespace skiff::container {
namespace {

class PoolCreate final : public Invocation {
 public:
  std::vector<Setting> rows() override {
    std::vector<Setting> rows = spec_.rows_of_a_pool();
    rows.push_back({.flag = "size",
                    .environment = "",
                    .target = setting::Count{&size_, 0, kLargestPool},
                    .value = "NUMBER",
                    .group = "",
                    .help = "How many sandboxes wait in it."});
    return rows;
  }

  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    auto pools = co_await pools_of(&context);
    if (!pools) co_return std::unexpected{std::move(pools.error())};
    const std::string name = arguments.words.at(0);
    auto spec = spec_.spec(name, context.options().owner, arguments.given);
    if (!spec) co_return std::unexpected{std::move(spec.error())};
    PoolSpec wanted{.name = name, .size = static_cast<unsigned>(size_), .sandbox = std::move(*spec)};
    Progress progress = context.progress("pool " + name);
    auto made = co_await (*pools)->create(std::move(wanted), std::move(progress));
    if (!made) co_return std::unexpected{std::move(made.error())};
    if (auto shown = show_pool(context, *made); !shown) co_return std::unexpected{std::move(shown.error())};
    co_return 0;
  }

 private:
  SpecFlags spec_;
  std::uint64_t size_ = 1;
};

}  // namespace

Command pool_create_command() {
  return {.name = "pool create",
          .group = "Pools",
          .summary = "make sandboxes in advance",
          .text =
              "  skiff pool create python --image python:3.12-slim --size 5\n"
              "  skiff up demo --pool python --env GREETING=hello --ttl 1h\n"
              "One that is taken from the pool is there at once, and the pool is made full again.",
          .words = {{.name = "POOL"}},
          .makes_sandboxes = true,
          .make = &make_invocation<PoolCreate>};
}

}  // namespace skiff::container
