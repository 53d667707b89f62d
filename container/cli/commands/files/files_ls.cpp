#include <utility>

#include <nlohmann/json.hpp>

#include "container/cli/commands/commands.hpp"
#include "container/cli/commands/files/file_entries.hpp"
#include "container/cli/context.hpp"
#include "container/cli/flags/session_flag.hpp"
#include "container/cli/output/output.hpp"
#include "protocol/http/target.hpp"

namespace skiff::container {
namespace {

class FilesLs final : public Invocation {
 public:
  std::vector<Setting> rows() override {
    return {{.flag = "recursive",
             .target = setting::Switch{&recursive_},
             .help = "List subdirectories as well.",
             .letter = 'r'},
            session_.row()};
  }

  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    SKIFF_CO_TRY(auto agent, co_await context.agent(arguments.words.at(0), {.scope = "read"}));
    std::string url = session_.files() + ":list?limit=10000";
    if (recursive_) url += "&recursive=true";
    if (arguments.words.size() > 1) url += "&path=" + protocol::percent_encode(arguments.words.at(1));
    SKIFF_CO_TRY(auto listed, co_await agent->get_items(std::move(url)));
    const nlohmann::json items = std::move(listed);
    SKIFF_CO_TRY(const auto entries, file_entries(items));
    SKIFF_CO_TRY_VOID(context.show({{"items", items}}, format_table(entries.rows), entries.names));
    co_return 0;
  }

 private:
  bool recursive_ = false;
  SessionFlag session_;
};

}  // namespace

Command files_ls_command() {
  return {.name = "files ls",
          .group = "Files",
          .summary = "list a directory of a sandbox",
          .words = {{.name = "NAME", .kind = WordKind::sandbox},
                    {.name = "PATH", .kind = WordKind::remote_path, .optional = true}},
          .make = &create_invocation<FilesLs>};
}

}  // namespace skiff::container
