#include "container/changes/apply.hpp"

#include <stop_token>
#include <utility>

#include <nlohmann/json.hpp>

#include "container/cli/commands/commands.hpp"
#include "container/cli/commands/files/change_lines.hpp"
#include "container/cli/context.hpp"
#include "container/cli/output/printable.hpp"

namespace skiff::container {
namespace {

class ApplyChanges final : public Invocation {
 public:
  std::vector<Setting> rows() override {
    return {{.flag = "yes",
             .target = setting::Switch{&yes_},
             .help = "Also apply what programs of this machine run by themselves (git hooks, Makefile, .vscode, "
                     "package.json and others), and links that lead out of the directory.",
             .letter = 'y'}};
  }

  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    SKIFF_CO_TRY(auto driver, co_await context.driver());
    SKIFF_CO_TRY(auto mount, co_await driver->layer(arguments.words.at(0)));
    SKIFF_CO_TRY(auto paths, relative_paths(mount, {arguments.words.begin() + 1, arguments.words.end()}));
    changes::Applied applied;
    SKIFF_CO_TRY_VOID(co_await run_on_files(
        &context, [&](const std::stop_token& stop) { return apply(mount, paths, stop, applied); }));
    nlohmann::json items = nlohmann::json::array();
    std::string lines;
    std::string names;
    for (const changes::Change& change : applied.done) {
      items.push_back(change_json(change));
      lines += change_line(change) + "\n";
      names += printable(change.path) + "\n";
    }
    const nlohmann::json value{
        {"directory", mount.directory}, {"applied", std::move(items)}, {"left_out", left_out_json(applied.left_out)}};
    SKIFF_CO_TRY_VOID(context.show(value, lines, names));
    co_return tell_left_out(applied.left_out);
  }

 private:
  Result<> apply(const MountedLayer& mount, const std::vector<std::string>& paths, const std::stop_token& stop,
                 changes::Applied& applied) const {
    SKIFF_TRY(auto first, changes::Workspace::open(mount));
    SKIFF_TRY(const auto lock, first.lock());
    // Another `apply` may have ended since.
    SKIFF_TRY(auto workspace, changes::Workspace::open(mount));
    SKIFF_TRY(auto found, changes::compare(workspace, paths, stop));
    const auto consent = yes_ ? changes::Consent::given : changes::Consent::refused;
    SKIFF_TRY(applied, changes::apply(workspace, std::move(found), consent, stop));
    return {};
  }

  bool yes_ = false;
};

}  // namespace

Command apply_command() {
  return {
      .name = "apply",
      .group = "Files",
      .summary = "copy what a sandbox has changed onto the directory that it was given",
      .text =
          "For sandboxes of the driver box with --mount DIR, whether they run or not. `skiff changes` shows what "
          "would\n"
          "be done. skiff prints each change that it has made, and leaves out, says so and exits with 1:\n"
          "  - a file that has changed in DIR since the sandbox was created: `skiff cp NAME:PATH PATH` takes it all\n"
          "    the same\n"
          "  - without --yes, what programs of this machine run by themselves, and links out of DIR\n"
          "  - FIFOs, sockets and devices, and what cannot be read or written\n"
          "Links are never followed. Set-user-id and set-group-id bits are dropped. The sandbox keeps its changes.\n"
          "\n"
          "  skiff apply demo\n"
          "  skiff apply demo src README.md",
      .words = {{.name = "NAME", .kind = WordKind::sandbox},
                {.name = "PATH", .kind = WordKind::text, .optional = true, .repeated = true}},
      .make = &create_invocation<ApplyChanges>};
}

}  // namespace skiff::container
