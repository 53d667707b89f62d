#include <chrono>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/clock.hpp"
#include "container/cli/commands.hpp"
#include "container/cli/context.hpp"
#include "container/cli/output.hpp"
#include "protocol/target.hpp"

namespace skiff::container {
namespace {

using nlohmann::json;

/// Of a command line in a table; all of it is in JSON.
constexpr std::size_t kShownLine = 60;

std::string line_of(const json& command) {
  std::string line = command.value("command", "");
  for (const auto& word : command.value("argv", json::array())) {
    line += (line.empty() ? "" : " ") + word.get<std::string>();
  }
  for (char& c : line) {
    if (c == '\n' || c == '\t') c = ' ';
  }
  return line.size() > kShownLine ? line.substr(0, kShownLine - 3) + "..." : line;
}

std::string outcome_of(const json& command) {
  std::string text = command.value("state", "");
  if (command.value("exit_code", json{}).is_number()) text += " (" + command["exit_code"].dump() + ")";
  if (command.value("signal", json{}).is_string()) text += " (" + command["signal"].get<std::string>() + ")";
  if (command.contains("hints")) text += " (waits for input)";
  return text;
}

class Top final : public Invocation {
 public:
  std::vector<Setting> rows() override {
    return {{.flag = "processes",
             .environment = "",
             .target = setting::Switch{&processes_},
             .value = "",
             .group = "",
             .help = "Every process of the commands instead.",
             .letter = 'p'}};
  }

  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    auto agent = co_await context.agent(arguments.words.at(0));
    if (!agent) co_return std::unexpected{std::move(agent.error())};
    auto sessions = co_await (*agent)->get_items("/v1/sessions?limit=500");
    if (!sessions) co_return std::unexpected{std::move(sessions.error())};
    json items = json::array();
    for (const auto& session : *sessions) {
      std::string path = "/v1/sessions/" + protocol::percent_encode(text_at(session, "id"));
      path += processes_ ? "/processes" : "/commands?limit=500";
      auto found = co_await (*agent)->get_items(std::move(path));
      if (!found) co_return std::unexpected{std::move(found.error())};
      for (auto& item : *found) items.push_back(std::move(item));
    }
    std::string names;
    for (const auto& item : items) names += (processes_ ? item["pid"].dump() : item.value("id", "")) + "\n";
    const std::string table = processes_ ? process_table(items) : command_table(items);
    if (auto shown = context.show({{"items", items}}, table, names); !shown) {
      co_return std::unexpected{std::move(shown.error())};
    }
    co_return 0;
  }

 private:
  static std::string command_table(const json& items) {
    const long long now = std::chrono::floor<std::chrono::milliseconds>(wall_now()).time_since_epoch().count();
    std::vector<std::vector<std::string>> table{{"ID", "SESSION", "STATE", "PID", "AGE", "OUTPUT", "COMMAND"}};
    for (const auto& item : items) {
      const auto output = item.value("output", json::object());
      table.push_back({item.value("id", ""), item.value("session", ""), outcome_of(item),
                       item.contains("pid") ? item["pid"].dump() : "-", format_age(item.value("started_at", ""), now),
                       format_size(output.value("next_offset", 0ULL)), line_of(item)});
    }
    return format_table(table);
  }

  static std::string process_table(const json& items) {
    std::vector<std::vector<std::string>> table{{"PID", "PARENT", "STATE", "MEMORY", "COMMAND", "PROGRAM"}};
    for (const auto& item : items) {
      table.push_back({item["pid"].dump(), item["parent"].dump(), item.value("state", ""),
                       format_size(item.value("rss_bytes", 0ULL)), item.value("command", ""),
                       line_of({{"command", item.value("command_line", "")}})});
    }
    return format_table(table);
  }

  bool processes_ = false;
};

}  // namespace

Command top_command() {
  return {.name = "top",
          .group = "Commands",
          .summary = "list the commands of a sandbox, or their processes",
          .text = "",
          .words = {{.name = "NAME", .kind = WordKind::sandbox}},
          .make = &make_invocation<Top>};
}

}  // namespace skiff::container
