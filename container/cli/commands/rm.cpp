#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/async/in_parallel.hpp"
#include "container/cli/commands/commands.hpp"
#include "container/cli/context.hpp"
#include "container/cli/flags/dry_run.hpp"
#include "container/cli/flags/pod_flags.hpp"
#include "container/cli/flags/removal_flags.hpp"
#include "container/cli/output/output.hpp"
#include "container/cluster/rbac.hpp"

namespace skiff::container {
namespace {

/// A sandbox to remove: the one with this name, or only the one with this id.
struct Chosen {
  std::string name;
  std::string id = {};
};

class Rm final : public Invocation {
 public:
  std::vector<Setting> rows() override {
    std::vector<Setting> rows{
        {.flag = "all", .target = setting::Switch{&all_}, .help = "All sandboxes of --owner.", .letter = 'a'},
        {.flag = "everyone",
         .target = setting::Switch{&everyone_},
         .help = "With --all or --label: also sandboxes of other owners."},
        {.flag = "label",
         .target = setting::List{&labels_},
         .value = "NAME=VALUE",
         .help = "All sandboxes of --owner with this label.",
         .letter = 'l'},
        {.flag = "ignore-not-found",
         .target = setting::Switch{&ignore_not_found_},
         .help = "Do not mention a NAME that does not exist; it is never an error."}};
    rows.push_back(dry_run_.row("Only print the names of what would be removed."));
    std::ranges::move(removal_.rows(), std::back_inserter(rows));
    return rows;
  }

  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    const bool is_by_list = all_ || !labels_.empty();
    if (is_by_list == !arguments.words.empty()) {
      co_return fail(Errc::invalid_field, is_by_list ? std::string{all_ ? "--all" : "--label"} + " takes no names"
                                                     : "name what to remove, or say --all or --label NAME=VALUE");
    }
    // Only a foreign claim's name may contain a dot.
    const auto file = std::ranges::find_if(arguments.words, [](const std::string& name) {
      return !name.starts_with("claim/") &&
             (name.ends_with(".yaml") || name.ends_with(".yml") || name.ends_with(".json"));
    });
    if (file != arguments.words.end()) {
      co_return fail(Errc::invalid_field, '"' + *file + "\" is a file, and -f is --force here: skiff rm NAME, or " +
                                              "kubectl delete -f " + *file);
    }
    SKIFF_CO_TRY(auto how, removal_.removal());
    SKIFF_CO_TRY(auto driver, co_await context.driver());
    std::vector<Chosen> chosen;
    for (std::string& name : arguments.words) chosen.push_back({.name = std::move(name)});
    if (is_by_list) {
      SKIFF_CO_TRY(chosen, co_await list_chosen(driver, context.options().owner));
    }
    // A name that is given twice means one sandbox.
    std::set<std::string> seen;
    std::erase_if(chosen, [&seen](const Chosen& one) { return !seen.insert(one.name).second; });
    std::vector<std::optional<Result<bool>>> outcomes(chosen.size());
    // Remove all at the same time, so that one that ends slowly does not delay the others.
    co_await in_parallel(chosen.size(), chosen.size(), [&](std::size_t index) {
      return remove_one(driver, chosen[index], how, &context.signals(), &outcomes[index]);
    });
    nlohmann::json removed = nlohmann::json::array();
    std::string lines;
    Error first;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      if (!outcomes[i]) continue;
      const std::string& name = chosen[i].name;
      Result<bool>& done = *outcomes[i];
      if (!done) {
        say(name + ": " + with_right_hint(done.error(), "rm"));
        if (first.message.empty()) first = std::move(done.error());
      } else if (*done) {
        removed.push_back(name);
        lines += name + "\n";
      } else if (!is_by_list &&
                 !ignore_not_found_) {  // an absent sandbox is not an error, but the user may have meant another one
        say(name + ": there is none (" + driver->place() + ")");
      }
    }
    const nlohmann::json value{{"removed", std::move(removed)}};
    SKIFF_CO_TRY_VOID(context.show(value, lines, lines));
    if (!first.message.empty()) co_return fail(first.code, "not everything could be removed");
    co_return 0;
  }

 private:
  Task<Result<std::vector<Chosen>>> list_chosen(Driver* driver, std::string owner) {
    SandboxFilter filter{.lost = all_, .limit = std::numeric_limits<std::size_t>::max()};
    if (!everyone_) filter.owner = std::move(owner);
    SKIFF_CO_TRY(filter.labels, parse_pairs(labels_, "--label"));
    SKIFF_CO_TRY(auto page, co_await driver->list(std::move(filter)));
    std::vector<Chosen> chosen;
    for (Sandbox& sandbox : page.items) chosen.push_back({std::move(sandbox.name), std::move(sandbox.id)});
    co_return chosen;
  }

  /// Removes one sandbox. After an interrupt the outcome stays empty.
  Task<> remove_one(Driver* driver, Chosen one, Removal how, Signals* signals, std::optional<Result<bool>>* outcome) {
    if (signals->interrupted_by() != 0) co_return;
    if (dry_run_.is_wanted() && (dry_run_.asks_nobody() || !one.id.empty())) {
      outcome->emplace(true);  // it was named or listed
    } else if (dry_run_.is_wanted()) {
      outcome->emplace(co_await exists(driver, std::move(one.name)));
    } else if (one.id.empty()) {
      outcome->emplace(co_await driver->remove(std::move(one.name), std::move(how)));
    } else {
      outcome->emplace(co_await driver->remove_if(std::move(one.name), std::move(one.id), std::move(how)));
    }
  }

  static Task<Result<bool>> exists(Driver* driver, std::string name) {
    auto found = co_await driver->get(std::move(name));
    if (!found && found.error().code == Errc::sandbox_not_found) co_return false;
    if (!found) co_return std::unexpected{std::move(found.error())};
    co_return true;
  }

  bool all_ = false;
  bool everyone_ = false;
  bool ignore_not_found_ = false;
  DryRun dry_run_;
  std::vector<std::string> labels_;
  RemovalFlags removal_;
};

}  // namespace

Command rm_command() {
  return {
      .name = "rm",
      .group = "Sandboxes",
      .summary = "remove sandboxes with everything in them",
      .text = "A sandbox that does not exist counts as removed; skiff reports on stderr where it has looked for it.",
      .words = {{.name = "NAME", .kind = WordKind::sandbox, .optional = true, .repeated = true}},
      .aliases = {"delete"},
      .make = &create_invocation<Rm>};
}

}  // namespace skiff::container
