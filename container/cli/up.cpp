#include <utility>

#include <nlohmann/json.hpp>

#include "container/cli/commands.hpp"
#include "container/cli/context.hpp"
#include "container/cli/manifest.hpp"
#include "container/cli/output.hpp"
#include "container/cli/spec_flags.hpp"
#include "container/launcher/bring_up.hpp"

namespace skiff::container {
namespace {

class Up final : public Invocation {
 public:
  std::vector<Setting> rows() override {
    std::vector<Setting> rows = spec_.rows();
    rows.push_back({.flag = "get-or-create",
                    .environment = "",
                    .target = setting::Switch{&get_or_create_},
                    .value = "",
                    .group = "",
                    .help = "Be content with a sandbox of that name that exists; a stopped one is started."});
    rows.push_back(
        {.flag = "setup",
         .environment = "",
         .target = setting::Text{&setup_},
         .value = "SCRIPT",
         .group = "",
         .help = "A shell line that is run in a new sandbox; when it fails, so does `up`, and nothing is left."});
    rows.push_back({.flag = "dry-run",
                    .environment = "",
                    .target = setting::Switch{&dry_run_},
                    .value = "",
                    .group = "",
                    .help = "Make nothing and print what would be made, as `skiff manifest` does."});
    return rows;
  }

  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    auto driver = co_await context.driver();
    if (!driver) co_return std::unexpected{std::move(driver.error())};
    auto spec = spec_.spec(arguments.words.at(0), context.options().owner, arguments.given);
    if (!spec) co_return std::unexpected{std::move(spec.error())};
    if (dry_run_) co_return co_await print_manifest(&context, std::move(*spec), false);
    context.tell_notice(**driver);
    BringUp request{.spec = std::move(*spec), .get_or_create = get_or_create_, .setup = setup_};
    Progress progress = context.progress(arguments.words.at(0));
    auto up = co_await bring_up(*driver, std::move(request), std::move(progress));
    if (!up) co_return std::unexpected{std::move(up.error())};
    for (const std::string& difference : up->differences) say(up->sandbox.name + ": " + difference);
    nlohmann::json value = to_json_value(up->sandbox);
    value["new"] = up->is_new;
    const std::string line =
        up->sandbox.name + (up->is_new ? " is up" : " was there already") + " at " + up->sandbox.address + "\n";
    if (auto shown = context.show(value, line, up->sandbox.name + "\n"); !shown) {
      co_return std::unexpected{std::move(shown.error())};
    }
    co_return 0;
  }

 private:
  SpecFlags spec_;
  bool get_or_create_ = false;
  bool dry_run_ = false;
  std::string setup_;
};

}  // namespace

Command up_command() {
  return {.name = "up",
          .group = "Sandboxes",
          .summary = "make a sandbox and wait until it answers",
          .text =
              "  skiff up demo --env GREETING=hello --ttl 1h\n"
              "  skiff exec demo -- sh -c 'echo $GREETING'\n"
              "  skiff rm demo",
          .words = {{.name = "NAME"}},
          .makes_sandboxes = true,
          .make = &make_invocation<Up>};
}

}  // namespace skiff::container
