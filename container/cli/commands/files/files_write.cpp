#include <utility>

#include <nlohmann/json.hpp>

#include "container/cli/commands/commands.hpp"
#include "container/cli/context.hpp"
#include "container/cli/flags/session_flag.hpp"
#include "container/cli/output/standard_input.hpp"
#include "protocol/http/target.hpp"

namespace skiff::container {
namespace {

class FilesWrite final : public Invocation {
 public:
  std::vector<Setting> rows() override { return {session_.row()}; }

  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    const std::string& path = arguments.words.at(1);
    SKIFF_CO_TRY(auto input, standard_input());
    SKIFF_CO_TRY(auto agent, co_await context.agent(arguments.words.at(0)));
    std::string url = session_.files() + "/" + protocol::percent_encode(path);
    SKIFF_CO_TRY(auto written, co_await upload(agent.get(), std::move(url), std::move(input), {}, {}));
    SKIFF_CO_TRY_VOID(context.show({{"path", path}, {"bytes", written.bytes}}, "", path + "\n"));
    co_return 0;
  }

 private:
  SessionFlag session_;
};

}  // namespace

Command files_write_command() {
  return {.name = "files write",
          .group = "Files",
          .summary = "write stdin to a file of a sandbox",
          .text =
              "skiff replaces the file when all of stdin has arrived, and creates missing directories.\n"
              "\n"
              "  echo hello | skiff files write demo notes/today",
          .words = {{.name = "NAME", .kind = WordKind::sandbox}, {.name = "PATH", .kind = WordKind::remote_path}},
          .make = &create_invocation<FilesWrite>};
}

}  // namespace skiff::container
