#include "container/changes/compare.hpp"

#include <optional>
#include <stop_token>
#include <utility>

#include <nlohmann/json.hpp>

#include "container/changes/conflict.hpp"
#include "container/changes/text_diff.hpp"
#include "container/cli/commands/commands.hpp"
#include "container/cli/commands/files/change_lines.hpp"
#include "container/cli/context.hpp"
#include "container/cli/output/output.hpp"
#include "container/cli/output/printable.hpp"
#include "container/cli/output/terminal.hpp"

namespace skiff::container {
namespace {

class ShowChanges final : public Invocation {
 public:
  std::vector<Setting> rows() override {
    return {{.flag = "diff",
             .target = setting::Switch{&diff_},
             .help = "Show the differences of text files and links as git does. `git apply` takes them."}};
  }

  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    SKIFF_CO_TRY(auto driver, co_await context.driver());
    SKIFF_CO_TRY(auto mount, co_await driver->layer(arguments.words.at(0)));
    SKIFF_CO_TRY(auto paths, relative_paths(mount, {arguments.words.begin() + 1, arguments.words.end()}));
    Shown shown;
    SKIFF_CO_TRY_VOID(
        co_await run_on_files(&context, [&](const std::stop_token& stop) { return look(mount, paths, stop, shown); }));
    const nlohmann::json value{
        {"directory", mount.directory}, {"items", std::move(shown.items)}, {"left_out", left_out_json(shown.left_out)}};
    if (diff_ && context.options().output == "table" && !prints_to_terminal()) {
      // A program reads it, which must get the bytes of the files.
      SKIFF_CO_TRY_VOID(print(shown.lines));
    } else {
      SKIFF_CO_TRY_VOID(context.show(value, shown.lines, shown.names));
    }
    co_return tell_left_out(shown.left_out);
  }

 private:
  struct Shown {
    nlohmann::json items = nlohmann::json::array();
    std::string lines;
    std::string names;
    std::vector<changes::LeftOut> left_out;
  };

  Result<> look(const MountedLayer& mount, const std::vector<std::string>& paths, const std::stop_token& stop,
                Shown& shown) const {
    SKIFF_TRY(auto workspace, changes::Workspace::open(mount));
    SKIFF_TRY(auto found, changes::compare(workspace, paths, stop));
    for (const changes::Change& change : found.changes) {
      nlohmann::json item = change_json(change);
      std::string line = change_line(change);
      if (auto conflict = changes::find_conflict(workspace, change)) {
        item["conflict"] = conflict->detail;
        line += "  (conflict: " + printable(conflict->detail) + ")";
      }
      line += '\n';
      if (diff_) {
        auto diff = changes::text_diff(workspace, change);
        if (!diff) {
          found.left_out.push_back(
              {.path = change.path, .why = changes::Why::unreadable, .detail = diff.error().message});
        } else {
          add_diff(std::move(*diff), item, line);
        }
      }
      shown.items.push_back(std::move(item));
      shown.lines += line;
      shown.names += printable(change.path) + "\n";
    }
    shown.left_out = std::move(found.left_out);
    return {};
  }

  static void add_diff(changes::TextDiff diff, nlohmann::json& item, std::string& line) {
    switch (diff.shown) {
      case changes::Shown::nothing:
        return;
      case changes::Shown::binary:
        item["binary"] = true;
        break;
      case changes::Shown::too_large:
        item["too_large"] = true;
        break;
      case changes::Shown::text:
        put_bytes(item, "diff", diff.text);
        break;
    }
    line = std::move(diff.text);
  }

  bool diff_ = false;
};

}  // namespace

Command changes_command() {
  return {
      .name = "changes",
      .group = "Files",
      .summary = "show what a sandbox has changed in the directory that it was given",
      .text =
          "For sandboxes of the driver box with --mount DIR, whether they run or not. A is added, M is changed, D is\n"
          "deleted; a path that ends in / is a directory, which D means with everything in it. Paths are relative to\n"
          "DIR; PATH may also be absolute, as here or as in the sandbox. Equal type, permissions and\n"
          "content are not a change. With -o json each change also says its type, mode and size, and what `skiff "
          "apply`\n"
          "would ask for. The exit status is 1 if a part could not be read, which skiff says.\n"
          "\n"
          "  skiff changes demo\n"
          "  skiff changes demo src --diff",
      .words = {{.name = "NAME", .kind = WordKind::sandbox},
                {.name = "PATH", .kind = WordKind::text, .optional = true, .repeated = true}},
      .make = &create_invocation<ShowChanges>};
}

}  // namespace skiff::container
