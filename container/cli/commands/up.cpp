#include <utility>

#include <nlohmann/json.hpp>

#include "base/async/event.hpp"
#include "base/async/finally.hpp"
#include "container/cli/commands/cluster/manifest.hpp"
#include "container/cli/commands/commands.hpp"
#include "container/cli/context.hpp"
#include "container/cli/flags/dry_run.hpp"
#include "container/cli/flags/spec_flags.hpp"
#include "container/cli/output/output.hpp"
#include "container/cli/output/printable.hpp"
#include "container/sandbox/bring_up.hpp"
#include "container/sandbox/undo_unless.hpp"

namespace skiff::container {
namespace {

class Up final : public Invocation {
 public:
  std::vector<Setting> rows() override {
    std::vector<Setting> rows = spec_.rows();
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
    if (dry_run_.asks_nobody()) co_return print_offline_manifest(context, std::move(spec));
    context.set_image(spec.image);
    SKIFF_CO_TRY(auto driver, co_await context.driver());
    if (dry_run_.is_wanted()) co_return co_await print_manifest(&context, std::move(spec), false);
    context.tell_notice(*driver);
    BringUp request{.spec = std::move(spec), .get_or_create = get_or_create_, .setup = setup_};
    Progress progress = context.progress(name);
    SKIFF_CO_TRY(auto up, co_await bring_up(driver, std::move(request), std::move(progress)));
    for (const std::string& difference : up.differences) say(up.sandbox.name + ": " + difference);
    nlohmann::json value = to_json_value(up.sandbox);
    value["new"] = up.is_new;
    const std::string line =
        printable(up.sandbox.name + (up.is_new ? " is up" : " was there already") + " at " + up.sandbox.address) + "\n";
    if (!rm_on_exit_) context.signals().settle();
    SKIFF_CO_TRY_VOID(context.show(value, line, printable(up.sandbox.name) + "\n"));
    if (rm_on_exit_) co_await stay(context.executor(), driver, up.sandbox);
    co_return 0;
  }

 private:
  /// Waits for a signal, then removes the sandbox.
  static Task<> stay(Executor executor, Driver* driver, Sandbox sandbox) {
    Event never{executor};
    co_await finally([&] { return never.wait(); },
                     [&](this auto) -> Task<> {
                       auto removed = co_await remove_in_haste(driver, sandbox.name, sandbox.id, kUndoTime);
                       if (!removed) {
                         say("sandbox \"" + sandbox.name + "\" is still there: " + removed.error().message);
                       } else if (!*removed) {
                         say("sandbox \"" + sandbox.name + "\" is being removed");
                       }
                     });
  }

  SpecFlags spec_;
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
              "Without NAME skiff chooses one and prints it.\n"
              "\n"
              "  skiff up demo --env GREETING=hello --ttl 1h\n"
              "  skiff exec demo -- sh -c 'echo $GREETING'\n"
              "  skiff rm demo",
          .words = {{.name = "NAME", .optional = true}},
          .makes_sandboxes = true,
          .make = &create_invocation<Up>};
}

}  // namespace skiff::container
