#include <utility>

#include <nlohmann/json.hpp>

#include "container/cli/commands.hpp"
#include "container/cli/context.hpp"
#include "container/cli/failures.hpp"

namespace skiff::container {
namespace {

class Stop final : public Invocation {
 public:
  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    auto driver = co_await context.driver();
    if (!driver) co_return std::unexpected{std::move(driver.error())};
    nlohmann::json stopped = nlohmann::json::array();
    std::string lines;
    Failures failures{"stop", "stopped", arguments.words.size()};
    for (const std::string& name : arguments.words) {
      if (auto done = co_await (*driver)->stop(name); !done) {
        failures.add(name, std::move(done.error()));
        continue;
      }
      stopped.push_back(name);
      lines += name + "\n";
    }
    const nlohmann::json value{{"stopped", std::move(stopped)}};
    if (auto shown = context.show(value, lines, lines); !shown) co_return std::unexpected{std::move(shown.error())};
    co_return std::move(failures).status();
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
