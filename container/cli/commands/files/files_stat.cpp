#include <utility>

#include <nlohmann/json.hpp>

#include "container/agent/answer.hpp"
#include "container/cli/commands/commands.hpp"
#include "container/cli/commands/files/file_entries.hpp"
#include "container/cli/context.hpp"
#include "container/cli/flags/session_flag.hpp"
#include "container/cli/output/output.hpp"
#include "protocol/http/target.hpp"

namespace skiff::container {
namespace {

class FilesStat final : public Invocation {
 public:
  std::vector<Setting> rows() override { return {session_.row()}; }

  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    SKIFF_CO_TRY(auto agent, co_await context.agent(arguments.words.at(0)));
    std::string url = session_.files() + ":stat";
    for (std::size_t i = 1; i < arguments.words.size(); ++i) {
      url += (i == 1 ? "?path=" : "&path=") + protocol::percent_encode(arguments.words[i]);
    }
    SKIFF_CO_TRY(auto answer, co_await agent->get(std::move(url)));
    AgentAnswer page{answer, "its answer"};
    nlohmann::json there = nlohmann::json::array();
    std::size_t items = 0;
    for (const auto& item : page.list("items")) {
      ++items;
      AgentAnswer one{item, "a file"};
      const std::string code = one.text("error/code");
      const std::string detail = one.text("error/detail");
      SKIFF_CO_TRY_VOID(one.check());
      if (code.empty()) there.push_back(item);
      if (code.empty() || code == name(Errc::path_not_found)) continue;
      co_return fail(find_code(code).value_or(Errc::io_error), detail);
    }
    SKIFF_CO_TRY_VOID(page.check());
    if (items != arguments.words.size() - 1) {
      co_return std::unexpected{foreign_answer("its answer does not cover each path")};
    }
    SKIFF_CO_TRY(const auto entries, file_entries(there));
    const bool is_all = there.size() == items;
    const std::string table = there.empty() ? "" : format_table(entries.rows);
    SKIFF_CO_TRY_VOID(context.show({{"items", there}}, table, entries.names));
    co_return is_all ? 0 : 1;
  }

 private:
  SessionFlag session_;
};

}  // namespace

Command files_stat_command() {
  return {.name = "files stat",
          .group = "Files",
          .summary = "show type, size and mode of paths of a sandbox",
          .text =
              "Paths that do not exist are left out, and the exit status is 1 then. Links are not followed.\n"
              "\n"
              "  if skiff files stat demo result.json >/dev/null; then skiff cp demo:result.json .; fi",
          .words = {{.name = "NAME", .kind = WordKind::sandbox},
                    {.name = "PATH", .kind = WordKind::remote_path, .repeated = true}},
          .make = &create_invocation<FilesStat>};
}

}  // namespace skiff::container
