#include <utility>

#include <nlohmann/json.hpp>

#include "container/cli/commands.hpp"
#include "container/cli/context.hpp"
#include "container/cli/dry_run.hpp"
#include "container/cli/failures.hpp"

namespace skiff::container {
namespace {

class Stop final : public Invocation {
 public:
  std::vector<Setting> rows() override {
    return {dry_run_.row("Only print the names of those that would be stopped.")};
  }

  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    auto driver = co_await context.driver();
    if (!driver) co_return std::unexpected{std::move(driver.error())};
    nlohmann::json stopped = nlohmann::json::array();
    std::string lines;
    Failures failures{"stop", "stopped", arguments.words.size()};
    for (const std::string& name : arguments.words) {
      Task<Result<>> work = dry_run_.is_wanted() ? is_there(*driver, name) : (*driver)->stop(name);
      if (auto done = co_await std::move(work); !done) {
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

 private:
  static Task<Result<>> is_there(Driver* driver, std::string name) {
    auto found = co_await driver->get(std::move(name));
    if (!found) co_return std::unexpected{std::move(found.error())};
    co_return Result<>{};
  }

  DryRun dry_run_;
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
