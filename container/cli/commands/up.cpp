#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/async/event.hpp"
#include "base/async/finally.hpp"
#include "base/async/in_parallel.hpp"
#include "container/cli/commands/cluster/manifest.hpp"
#include "container/cli/commands/commands.hpp"
#include "container/cli/context.hpp"
#include "container/cli/flags/dry_run.hpp"
#include "container/cli/flags/spec_flags.hpp"
#include "container/cli/output/failures.hpp"
#include "container/cli/output/output.hpp"
#include "container/cli/output/printable.hpp"
#include "container/cli/output/terminal.hpp"
#include "container/sandbox/bring_up.hpp"
#include "container/sandbox/undo_unless.hpp"

namespace skiff::container {
namespace {

/// Number of sandboxes that are created at the same time.
constexpr std::size_t kCreatedAtOnce = 256;
/// Longest wait for copies of what the cluster has, before many sandboxes are taken from a pool.
constexpr std::chrono::milliseconds kCopiesPatience{5'000};

/// A sandbox that is to be brought up, and what became of it.
struct Wanted {
  std::string name;
  std::optional<Result<BroughtUp>> outcome = {};

  [[nodiscard]] bool is_up() const { return outcome && outcome->has_value(); }
};

/// True for one from a pool with egress by name for which no rule was given.
bool reaches_nothing(const Sandbox& sandbox) {
  const auto network = sandbox.details.find("network");
  return network != sandbox.details.end() && network->second == kNoEgress;
}

class Up final : public Invocation {
 public:
  std::vector<Setting> rows() override {
    std::vector<Setting> rows = spec_.rows();
    rows.push_back({.flag = "count",
                    .target = setting::Count{&count_, 1, 1000},
                    .value = "N",
                    .help = "Number of sandboxes, created at the same time: NAME-1 to NAME-N."});
    rows.push_back({.flag = "get-or-create",
                    .target = setting::Switch{&get_or_create_},
                    .help = "Use an existing sandbox of this name, and start it if it is stopped."});
    rows.push_back({.flag = "setup",
                    .target = setting::Text{&setup_},
                    .value = "SCRIPT",
                    .help = "Shell line to run in the new sandbox; if it fails, `up` fails and removes the sandbox."});
    rows.push_back({.flag = "rm-on-exit",
                    .target = setting::Switch{&rm_on_exit_},
                    .help = "Wait for a signal (Ctrl-C, TERM), then remove the sandbox."});
    rows.push_back(dry_run_.row("Only print the objects that would be created, as `skiff manifest` does."));
    return rows;
  }

  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    const std::string name = arguments.words.empty() ? create_name("box-") : arguments.words.front();
    SKIFF_CO_TRY(auto spec, spec_.spec(name, context.options().owner, arguments.given));
    if (count_ > 1 && (dry_run_.is_wanted() || dry_run_.asks_nobody())) {
      co_return fail(Errc::invalid_field, "--dry-run shows the objects of one sandbox: omit --count", "--count");
    }
    if (dry_run_.asks_nobody()) co_return print_offline_manifest(context, std::move(spec));
    context.set_image(spec.image);
    SKIFF_CO_TRY(auto driver, co_await context.driver());
    if (dry_run_.is_wanted()) co_return co_await print_manifest(&context, std::move(spec), false);
    context.tell_notice(*driver);
    std::vector<Wanted> all;
    for (std::uint64_t number = 1; number <= count_; ++number) {
      all.push_back({.name = count_ == 1 ? name : name + "-" + std::to_string(number)});
    }
    // The last one is the longest.
    SKIFF_CO_TRY_VOID(check_name(all.back().name));
    if (count_ > 1 && !spec.pod.pool.empty()) {
      driver->keep_copies();
      co_await driver->await_copies(std::chrono::steady_clock::now() + kCopiesPatience);
    }
    Failures failures{"up", "brought up", all.size()};
    Result<> shown;
    bool stay = false;
    co_await finally(
        [&](this auto) -> Task<> {
          co_await bring_up_all(driver, &context, std::move(spec), &all);
          stay = !rm_on_exit_;
          if (stay) context.signals().settle();
          shown = show(context, all, &failures);
          if (!stay && shown && std::ranges::any_of(all, &Wanted::is_up)) co_await Event{context.executor()}.wait();
        },
        [&](this auto) -> Task<> {
          // An interrupt, or the end of --rm-on-exit.
          if (!stay) co_await remove_all(driver, &all);
        });
    SKIFF_CO_TRY_VOID(std::move(shown));
    co_return std::move(failures).status();
  }

 private:
  Task<> bring_up_all(Driver* driver, Context* context, SandboxSpec spec, std::vector<Wanted>* all) {
    std::size_t done = 0;
    const bool draws_line = all->size() > 1 && shows_progress() && !context->options().quiet;
    const Progress line = draws_line ? context->progress("up") : Progress{[](Phase, std::string_view) {}};
    const auto one = [&](this auto, std::size_t index) -> Task<> {
      Wanted& wanted = (*all)[index];
      BringUp request{.spec = spec, .get_or_create = get_or_create_, .setup = setup_};
      request.spec.name = wanted.name;
      Progress progress = draws_line ? Progress{[](Phase, std::string_view) {}} : context->progress(wanted.name);
      try {
        wanted.outcome.emplace(co_await bring_up(driver, std::move(request), std::move(progress)));
      } catch (const NotUndone& remains) {
        if (all->size() > 1) say(wanted.name + ": " + remains.what());
        throw;
      }
      const bool is_last = ++done == all->size();
      line(is_last ? Phase::ready : Phase::starting, std::to_string(done) + " of " + std::to_string(all->size()));
    };
    // An interrupt of one alone says what could not be undone.
    if (all->size() == 1) co_return co_await one(0);
    co_await in_parallel(all->size(), kCreatedAtOnce, one);
  }

  /// Prints those that are up, and says why the others are not.
  static Result<> show(Context& context, const std::vector<Wanted>& all, Failures* failures) {
    nlohmann::json items = nlohmann::json::array();
    std::string lines;
    std::string names;
    for (const Wanted& one : all) {
      if (!one.is_up()) {
        failures->add(one.name, one.outcome->error());
        continue;
      }
      const BroughtUp& up = **one.outcome;
      for (const std::string& difference : up.differences) say(up.sandbox.name + ": " + difference);
      if (reaches_nothing(up.sandbox)) {
        say(up.sandbox.name + " reaches nothing: skiff network " + up.sandbox.name +
            " --egress HOST names what it may");
      }
      items.push_back(to_json_value(up.sandbox));
      items.back()["new"] = up.is_new;
      lines +=
          printable(up.sandbox.name + (up.is_new ? " is up" : " was there already") + " at " + up.sandbox.address) +
          "\n";
      names += printable(up.sandbox.name) + "\n";
    }
    if (all.size() == 1 && items.empty()) return {};
    return context.show(all.size() == 1 ? items.front() : nlohmann::json{{"items", items}}, lines, names);
  }

  static Task<> remove_all(Driver* driver, std::vector<Wanted>* all) {
    const auto one = [&](this auto, std::size_t index) -> Task<> {
      const Wanted& wanted = (*all)[index];
      if (!wanted.is_up()) co_return;
      const Sandbox& sandbox = (*wanted.outcome)->sandbox;
      auto removed = co_await remove_in_haste(driver, sandbox.name, sandbox.id, kUndoTime);
      if (!removed) {
        say("sandbox \"" + sandbox.name + "\" is still there: " + removed.error().message);
      } else if (!*removed) {
        say("sandbox \"" + sandbox.name + "\" is being removed");
      }
    };
    co_await in_parallel(all->size(), kCreatedAtOnce, one);
  }

  SpecFlags spec_;
  std::uint64_t count_ = 1;
  bool get_or_create_ = false;
  bool rm_on_exit_ = false;
  DryRun dry_run_;
  std::string setup_;
};

}  // namespace

Command up_command() {
  return {.name = "up",
          .group = "Sandboxes",
          .summary = "create a sandbox and wait until it answers",
          .text =
              "Without NAME skiff chooses one and prints it. With --count, sandboxes that come up stay if others\n"
              "fail, and -o json prints them as `items`.\n"
              "\n"
              "  skiff up demo --env GREETING=hello --ttl 1h\n"
              "  skiff exec demo -- sh -c 'echo $GREETING'\n"
              "  skiff rm demo",
          .words = {{.name = "NAME", .optional = true}},
          .makes_sandboxes = true,
          .make = &create_invocation<Up>};
}

}  // namespace skiff::container
