#include <utility>

#include <nlohmann/json.hpp>

#include "base/async/in_parallel.hpp"
#include "container/cli/commands/commands.hpp"
#include "container/cli/context.hpp"
#include "container/cli/flags/dry_run.hpp"
#include "container/cli/flags/removal_flags.hpp"
#include "container/cli/output/failures.hpp"

namespace skiff::container {
namespace {

/// Number of sandboxes that are stopped at the same time; each waits for the end of its Pod.
constexpr std::size_t kStoppedAtOnce = 16;

class Stop final : public Invocation {
 public:
  std::vector<Setting> rows() override {
    std::vector<Setting> rows = removal_.rows('t');
    rows.push_back(dry_run_.row("Only print the names of those that would be stopped."));
    return rows;
  }

  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    SKIFF_CO_TRY(auto how, removal_.removal());
    SKIFF_CO_TRY(auto driver, co_await context.driver());
    const std::vector<std::string>& names = arguments.words;
    std::vector<Result<>> outcomes(names.size());
    co_await in_parallel(names.size(), kStoppedAtOnce, [&](std::size_t index) {
      return stop_one(driver, names[index], how, dry_run_.is_wanted(), &outcomes[index]);
    });
    nlohmann::json stopped = nlohmann::json::array();
    std::string lines;
    Failures failures{"stop", "stopped", names.size()};
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (!outcomes[i]) {
        failures.add(names[i], std::move(outcomes[i].error()));
        continue;
      }
      stopped.push_back(names[i]);
      lines += names[i] + "\n";
    }
    const nlohmann::json value{{"stopped", std::move(stopped)}};
    SKIFF_CO_TRY_VOID(context.show(value, lines, lines));
    co_return std::move(failures).status();
  }

 private:
  /// Stops one sandbox; with `only_look` (--dry-run) only checks that it exists.
  static Task<> stop_one(Driver* driver, std::string name, Removal how, bool only_look, Result<>* outcome) {
    if (!only_look) {
      *outcome = co_await driver->stop(std::move(name), std::move(how));
      co_return;
    }
    auto found = co_await driver->get(std::move(name));
    if (!found) *outcome = std::unexpected{std::move(found.error())};
  }

  RemovalFlags removal_;
  DryRun dry_run_;
};

}  // namespace

Command stop_command() {
  return {.name = "stop",
          .group = "Sandboxes",
          .summary = "stop sandboxes and keep their files",
          .text = "`skiff start` starts them again.",
          .words = {{.name = "NAME", .kind = WordKind::sandbox, .repeated = true}},
          .make = &create_invocation<Stop>};
}

}  // namespace skiff::container
