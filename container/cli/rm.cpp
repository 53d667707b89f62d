#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "container/cli/commands.hpp"
#include "container/cli/context.hpp"
#include "container/cli/output.hpp"
#include "container/launcher/in_parallel.hpp"
#include "container/launcher/rbac.hpp"

namespace skiff::container {
namespace {

/// Each removal waits for the end of a Pod.
constexpr std::size_t kAtOnce = 16;

class Rm final : public Invocation {
 public:
  std::vector<Setting> rows() override {
    return {{.flag = "all",
             .environment = "",
             .target = setting::Switch{&all_},
             .value = "",
             .group = "",
             .help = "All sandboxes of --owner.",
             .letter = 'a'},
            {.flag = "everyone",
             .environment = "",
             .target = setting::Switch{&everyone_},
             .value = "",
             .group = "",
             .help = "With --all: also those of other owners."},
            {.flag = "dry-run",
             .environment = "",
             .target = setting::Switch{&dry_run_},
             .value = "",
             .group = "",
             .help = "Only print the names of what would be removed."}};
  }

  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    if (all_ == !arguments.words.empty()) {
      co_return fail(Errc::invalid_field, all_ ? "--all takes no names" : "name what to remove, or say --all");
    }
    auto driver = co_await context.driver();
    if (!driver) co_return std::unexpected{std::move(driver.error())};
    std::vector<std::string> names = std::move(arguments.words);
    if (all_) {
      auto mine = co_await list_names(*driver, context.options().owner);
      if (!mine) co_return std::unexpected{std::move(mine.error())};
      names = std::move(*mine);
    }
    // A name that is given twice is one sandbox.
    std::set<std::string> seen;
    std::erase_if(names, [&seen](const std::string& name) { return !seen.insert(name).second; });
    std::vector<std::optional<Result<bool>>> outcomes(names.size());
    co_await in_parallel(names.size(), kAtOnce, [&](std::size_t index) {
      return remove_one(*driver, names[index], &context.signals(), &outcomes[index]);
    });
    nlohmann::json removed = nlohmann::json::array();
    std::string lines;
    Error first;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (!outcomes[i]) continue;
      Result<bool>& done = *outcomes[i];
      if (!done) {
        say(names[i] + ": " + with_right_hint(done.error(), "rm"));
        if (first.message.empty()) first = std::move(done.error());
      } else if (*done) {  // what is not there needs no removing
        removed.push_back(names[i]);
        lines += names[i] + "\n";
      }
    }
    const nlohmann::json value{{"removed", std::move(removed)}};
    if (auto shown = context.show(value, lines, lines); !shown) co_return std::unexpected{std::move(shown.error())};
    if (!first.message.empty()) co_return fail(first.code, "not everything could be removed");
    co_return 0;
  }

 private:
  Task<Result<std::vector<std::string>>> list_names(Driver* driver, std::string owner) {
    SandboxFilter filter{.limit = std::numeric_limits<std::size_t>::max()};
    if (!everyone_) filter.owner = std::move(owner);
    auto page = co_await driver->list(std::move(filter));
    if (!page) co_return std::unexpected{std::move(page.error())};
    std::vector<std::string> names;
    for (Sandbox& sandbox : page->items) names.push_back(std::move(sandbox.name));
    co_return names;
  }

  /// Nothing for what an interrupt left undone.
  Task<> remove_one(Driver* driver, std::string name, Signals* signals, std::optional<Result<bool>>* outcome) {
    if (signals->interrupted_by() != 0) co_return;
    Task<Result<bool>> work = dry_run_ ? exists(driver, std::move(name)) : driver->remove(std::move(name));
    outcome->emplace(co_await std::move(work));
  }

  static Task<Result<bool>> exists(Driver* driver, std::string name) {
    auto found = co_await driver->get(std::move(name));
    if (!found && found.error().code == Errc::sandbox_not_found) co_return false;
    if (!found) co_return std::unexpected{std::move(found.error())};
    co_return true;
  }

  bool all_ = false;
  bool everyone_ = false;
  bool dry_run_ = false;
};

}  // namespace

Command rm_command() {
  return {.name = "rm",
          .group = "Sandboxes",
          .summary = "remove sandboxes with everything in them",
          .text = "A sandbox that does not exist counts as removed.",
          .words = {{.name = "NAME", .kind = WordKind::sandbox, .optional = true, .repeated = true}},
          .aliases = {"delete"},
          .make = &make_invocation<Rm>};
}

}  // namespace skiff::container
