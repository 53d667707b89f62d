#include <algorithm>
#include <chrono>
#include <optional>
#include <ranges>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/clock.hpp"
#include "container/agent/answer.hpp"
#include "container/cli/commands/commands.hpp"
#include "container/cli/context.hpp"
#include "container/cli/output/output.hpp"
#include "container/cli/output/printable.hpp"
#include "protocol/http/target.hpp"

namespace skiff::container {
namespace {

using nlohmann::json;

/// Most columns of a command line in a table; JSON contains all of it.
constexpr std::size_t kShownLine = 60;

std::string shown_line(std::string line) {
  std::ranges::replace_if(line, [](char c) { return c == '\n' || c == '\t'; }, ' ');
  return shortened(line, kShownLine);
}

std::string line_of(AgentAnswer& command) {
  std::string line = command.text("command");
  for (const std::string& word : command.texts("argv")) line += (line.empty() ? "" : " ") + word;
  return shown_line(std::move(line));
}

std::string digits(std::optional<std::uint64_t> number) {
  return number ? std::to_string(*number) : "-";
}

std::string outcome_of(AgentAnswer& command, bool waits_for_input) {
  std::string text = command.text("state");
  if (const auto code = command.number("exit_code")) text += " (" + std::to_string(*code) + ")";
  if (const std::string signal = command.text("signal"); !signal.empty()) text += " (" + signal + ")";
  if (waits_for_input) text += " (waits for input)";
  return text;
}

using Table = std::vector<std::vector<std::string>>;

Result<Table> command_table(const json& items) {
  const long long now = std::chrono::floor<std::chrono::milliseconds>(wall_now()).time_since_epoch().count();
  Table table{{"ID", "SESSION", "STATE", "PID", "AGE", "OUTPUT", "COMMAND"}};
  for (const auto& item : items) {
    AgentAnswer command{item, "a command"};
    table.push_back({command.text("id"), command.text("session"), outcome_of(command, item.contains("hints")),
                     digits(command.number("pid")), format_age(command.text("started_at"), now),
                     format_size(command.number("output/next_offset").value_or(0)), line_of(command)});
    SKIFF_TRY_VOID(command.check());
  }
  return table;
}

Result<Table> process_table(const json& items) {
  Table table{{"PID", "PARENT", "STATE", "MEMORY", "COMMAND", "PROGRAM"}};
  for (const auto& item : items) {
    AgentAnswer process{item, "a process"};
    table.push_back({digits(process.number("pid")), digits(process.number("parent")), process.text("state"),
                     format_size(process.number("rss_bytes").value_or(0)), process.text("command"),
                     shown_line(process.text("command_line"))});
    SKIFF_TRY_VOID(process.check());
  }
  return table;
}

class Top final : public Invocation {
 public:
  std::vector<Setting> rows() override {
    return {{.flag = "processes",
             .target = setting::Switch{&processes_},
             .help = "List every process of the commands instead.",
             .letter = 'p'}};
  }

  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    SKIFF_CO_TRY(auto agent, co_await context.agent(arguments.words.at(0)));
    SKIFF_CO_TRY(auto sessions, co_await agent->get_items("/v1/sessions?limit=500"));
    json items = json::array();
    for (const auto& session : sessions) {
      std::string path = "/v1/sessions/" + protocol::percent_encode(text_at(session, "id"));
      path += processes_ ? "/processes" : "/commands?limit=500";
      SKIFF_CO_TRY(auto found, co_await agent->get_items(std::move(path)));
      for (auto& item : found) items.push_back(std::move(item));
    }
    SKIFF_CO_TRY(const auto table, processes_ ? process_table(items) : command_table(items));
    std::string names;
    for (const auto& row : table | std::views::drop(1)) names += printable(row.front()) + "\n";
    SKIFF_CO_TRY_VOID(context.show({{"items", items}}, format_table(table), names));
    co_return 0;
  }

 private:
  bool processes_ = false;
};

}  // namespace

Command top_command() {
  return {.name = "top",
          .group = "Commands",
          .summary = "list the commands of a sandbox, or their processes",
          .words = {{.name = "NAME", .kind = WordKind::sandbox}},
          .make = &create_invocation<Top>};
}

}  // namespace skiff::container
