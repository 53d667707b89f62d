#include <utility>

#include <nlohmann/json.hpp>

#include "container/cli/commands.hpp"
#include "container/cli/context.hpp"
#include "container/cli/output.hpp"
#include "container/launcher/rbac.hpp"

namespace skiff::container {
namespace {

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
    nlohmann::json removed = nlohmann::json::array();
    std::string lines;
    Error first;
    for (const std::string& name : names) {
      Result<bool> done = co_await (dry_run_ ? exists(*driver, name) : (*driver)->remove(name));
      if (!done) {
        say(name + ": " + with_right_hint(done.error(), "rm"));
        if (first.message.empty()) first = std::move(done.error());
        continue;
      }
      if (!*done) continue;  // what is not there needs no removing
      removed.push_back(name);
      lines += name + "\n";
      if (context.signals().interrupted_by() != 0) break;
    }
    const nlohmann::json value{{"removed", std::move(removed)}};
    if (auto shown = context.show(value, lines, lines); !shown) co_return std::unexpected{std::move(shown.error())};
    if (!first.message.empty()) co_return fail(first.code, "not everything could be removed");
    co_return 0;
  }

 private:
  Task<Result<std::vector<std::string>>> list_names(Driver* driver, std::string owner) {
    SandboxFilter filter;
    if (!everyone_) filter.owner = std::move(owner);
    std::vector<std::string> names;
    do {
      auto page = co_await driver->list(filter);
      if (!page) co_return std::unexpected{std::move(page.error())};
      for (Sandbox& sandbox : page->items) names.push_back(std::move(sandbox.name));
      filter.cursor = std::move(page->next);
    } while (!filter.cursor.empty());
    co_return names;
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
          .make = &make_invocation<Rm>};
}

}  // namespace skiff::container
