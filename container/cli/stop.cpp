#include <utility>

#include "container/cli/commands.hpp"
#include "container/cli/context.hpp"
#include "container/cli/output.hpp"

namespace skiff::container {
namespace {

class Stop final : public Invocation {
 public:
  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    auto driver = co_await context.driver();
    if (!driver) co_return std::unexpected{std::move(driver.error())};
    for (const std::string& name : arguments.words) {
      if (auto stopped = co_await (*driver)->stop(name); !stopped) {
        co_return std::unexpected{std::move(stopped.error())};
      }
      if (auto printed = print(name + "\n"); !printed) co_return std::unexpected{std::move(printed.error())};
    }
    co_return 0;
  }
};

}  // namespace

Command stop_command() {
  return {.name = "stop",
          .group = "Sandboxes",
          .summary = "end what runs in sandboxes and keep their files",
          .text = "`skiff start` makes them again.",
          .words = {{.name = "NAME", .kind = WordKind::sandbox, .repeated = true}},
          .make = &make_invocation<Stop>};
}

}  // namespace skiff::container
