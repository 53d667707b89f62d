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
    auto agent = co_await context.agent(arguments.words.at(0));
    if (!agent) co_return std::unexpected{std::move(agent.error())};
    std::string url = "/v1/files:list?limit=10000";
    if (recursive_) url += "&recursive=true";
    if (arguments.words.size() > 1) url += "&path=" + protocol::percent_encode(arguments.words.at(1));
    json items = json::array();
    std::string cursor;
    do {
      auto page = co_await (*agent)->get(cursor.empty() ? url : url + "&cursor=" + protocol::percent_encode(cursor));
      if (!page) co_return std::unexpected{std::move(page.error())};
      for (auto& item : page->at("items")) items.push_back(std::move(item));
      cursor = page->value("next_cursor", "");
    } while (!cursor.empty());
    std::vector<std::vector<std::string>> rows{{"MODE", "SIZE", "MODIFIED", "PATH"}};
    std::string names;
    for (const auto& item : items) {
      std::string path = item.value("path", "");
      names += path + "\n";
      if (item.value("type", "") == "directory") path += '/';
      if (item.contains("target")) path += " -> " + item.value("target", "");
      rows.push_back(
          {item.value("mode", ""), format_size(item.value("size", 0ULL)), item.value("modified_at", ""), path});
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
