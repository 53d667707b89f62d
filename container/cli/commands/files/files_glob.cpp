#include <utility>

#include <nlohmann/json.hpp>

#include "container/agent/answer.hpp"
#include "container/cli/commands/commands.hpp"
#include "container/cli/commands/files/file_entries.hpp"
#include "container/cli/context.hpp"
#include "container/cli/flags/session_flag.hpp"
#include "container/cli/output/output.hpp"
#include "container/cli/output/printable.hpp"
#include "protocol/http/target.hpp"

namespace skiff::container {
namespace {

class FilesGlob final : public Invocation {
 public:
  std::vector<Setting> rows() override { return {session_.row()}; }

  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    SKIFF_CO_TRY(auto agent, co_await context.agent(arguments.words.at(0)));
    std::string url = session_.files() + ":glob?pattern=" + protocol::percent_encode(arguments.words.at(1));
    SKIFF_CO_TRY(auto found, co_await find_records(agent.get(), std::move(url)));
    std::string paths;
    for (const auto& record : found.records) {
      AgentAnswer match{record, "a match"};
      paths += printable(match.bytes("path")) + "\n";
      SKIFF_CO_TRY_VOID(match.check());
    }
    SKIFF_CO_TRY_VOID(context.show({{"items", found.records}}, paths, paths));
    co_return tell_left_out(found, context.options().quiet) ? 1 : 0;
  }

 private:
  SessionFlag session_;
};

}  // namespace

Command files_glob_command() {
  return {
      .name = "files glob",
      .group = "Files",
      .summary = "list the paths of a sandbox that match a pattern",
      .text =
          "The pattern may contain * ? [...] {a,b}, and ** for any number of directories. Names that begin with a\n"
          "dot, and files that .gitignore excludes, are left out. The exit status is 1 if a directory could not be\n"
          "read or there are more matches than the agent gives, which skiff says.\n"
          "\n"
          "  skiff files glob demo 'src/**/*.py'",
      .words = {{.name = "NAME", .kind = WordKind::sandbox}, {.name = "PATTERN"}},
      .make = &create_invocation<FilesGlob>};
}

}  // namespace skiff::container
