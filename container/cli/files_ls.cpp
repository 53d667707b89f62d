#include <chrono>
#include <utility>

#include <nlohmann/json.hpp>

#include "container/cli/commands.hpp"
#include "container/cli/context.hpp"
#include "container/cli/output.hpp"
#include "protocol/target.hpp"

namespace skiff::container {
namespace {

using nlohmann::json;

class FilesLs final : public Invocation {
 public:
  std::vector<Setting> rows() override {
    return {{.flag = "recursive",
             .environment = "",
             .target = setting::Switch{&recursive_},
             .value = "",
             .group = "",
             .help = "Also what is below.",
             .letter = 'r'}};
  }

  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    auto agent = co_await context.agent(arguments.words.at(0), {.scope = "read"});
    if (!agent) co_return std::unexpected{std::move(agent.error())};
    std::string url = "/v1/files:list?limit=10000";
    if (recursive_) url += "&recursive=true";
    if (arguments.words.size() > 1) url += "&path=" + protocol::percent_encode(arguments.words.at(1));
    auto listed = co_await (*agent)->get_items(std::move(url));
    if (!listed) co_return std::unexpected{std::move(listed.error())};
    const json items = std::move(*listed);
    std::vector<std::vector<std::string>> rows{{"MODE", "SIZE", "MODIFIED", "PATH"}};
    std::string names;
    for (const auto& item : items) {
      std::string path = text_at(item, "path");
      names += path + "\n";
      if (text_at(item, "type") == "directory") path += '/';
      if (item.contains("target")) path += " -> " + text_at(item, "target");
      rows.push_back({text_at(item, "mode"), format_size(number_at(item, "size").value_or(0)),
                      text_at(item, "modified_at"), path});
    }
    if (auto shown = context.show({{"items", items}}, format_table(rows), names); !shown) {
      co_return std::unexpected{std::move(shown.error())};
    }
    co_return 0;
  }

 private:
  bool recursive_ = false;
};

}  // namespace

Command files_ls_command() {
  return {.name = "files ls",
          .group = "Files",
          .summary = "list a folder of a sandbox",
          .text = "",
          .words = {{.name = "NAME", .kind = WordKind::sandbox},
                    {.name = "PATH", .kind = WordKind::remote_path, .optional = true}},
          .make = &make_invocation<FilesLs>};
}

}  // namespace skiff::container
