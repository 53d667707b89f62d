#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/async/deadline.hpp"
#include "container/agent/client.hpp"
#include "container/cli/commands/commands.hpp"
#include "container/cli/context.hpp"
#include "container/cli/flags/command_flags.hpp"
#include "container/cli/output/printable.hpp"
#include "protocol/http/target.hpp"

namespace skiff::container {
namespace {

/// Time to wait for the command's end. A command that catches the signal may take longer; skiff then reports that it
/// still runs.
constexpr std::chrono::milliseconds kEndTime{3'000};
constexpr std::chrono::milliseconds kBetweenKillLooks{100};
constexpr int kMostLooks = 10;
constexpr std::array<std::string_view, 4> kEnding{"TERM", "KILL", "INT", "QUIT"};

class Kill final : public Invocation {
 public:
  std::vector<Setting> rows() override {
    return {
        {.flag = "signal",
         .target = setting::Text{&signal_},
         .value = "SIGNAL",
         .help = "TERM and KILL reach the whole process tree, INT and QUIT the process group, others only the command.",
         .letter = 's'},
        session_row(&session_, 0)};
  }

  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    SKIFF_CO_TRY(auto agent, co_await context.agent(arguments.words.at(0)));
    std::string id;
    if (arguments.words.size() > 1) {
      id = arguments.words.at(1);
    } else {
      SKIFF_CO_TRY(id, co_await only_command(agent.get(), arguments.words.at(0)));
    }
    std::string body = nlohmann::json{{"signal", signal_}}.dump();
    const auto before = co_await count_processes(agent.get(), id);
    SKIFF_CO_TRY_VOID(co_await agent->post(command_path(session_, id) + "/signal", std::move(body)));
    SKIFF_CO_TRY(const bool has_ended, co_await wait_for_end(agent.get(), id));
    auto left = has_ended ? co_await count_processes(agent.get(), id) : std::nullopt;
    // The processes have the signal and need a moment to end.
    for (int looks = 0; left && *left > 0 && looks < kMostLooks; ++looks) {
      co_await pause(kBetweenKillLooks);
      left = co_await count_processes(agent.get(), id);
    }
    nlohmann::json value{{"id", id}, {"signal", signal_}, {"ended", has_ended}};
    if (before) value["processes"] = *before;
    if (left) value["left"] = *left;
    std::string line = printable(id) + (has_ended ? ": ended" : ": " + signal_ + " was sent");
    if (has_ended && before) line += ", " + std::to_string(*before) + (*before == 1 ? " process" : " processes");
    if (left) line += *left == 0 ? ", none left" : ", " + std::to_string(*left) + " left";
    SKIFF_CO_TRY_VOID(context.show(value, line + "\n", printable(id) + "\n"));
    co_return 0;
  }

 private:
  /// The number of a command's processes; nullopt if the agent does not report them.
  Task<std::optional<std::size_t>> count_processes(AgentClient* agent, std::string id) const {
    auto all = co_await agent->get_items("/v1/sessions/" + protocol::percent_encode(session_) + "/processes");
    if (!all) co_return std::nullopt;
    co_return std::ranges::count_if(*all, [&id](const auto& one) { return text_at(one, "command") == id; });
  }

  /// True if the command ends within that time.
  Task<Result<bool>> wait_for_end(AgentClient* agent, std::string id) const {
    const bool is_for_ending = std::ranges::count(kEnding, signal_) > 0;
    const std::string query = is_for_ending ? "?wait_ms=" + std::to_string(kEndTime.count()) : "";
    SKIFF_CO_TRY(auto now, co_await agent->get(command_path(session_, id) + query));
    co_return text_at(now, "state") == "ended";
  }

  /// The id of the only running command; an error if there are several.
  Task<Result<std::string>> only_command(AgentClient* agent, std::string name) const {
    SKIFF_CO_TRY(auto all, co_await agent->get_items("/v1/sessions/" + protocol::percent_encode(session_) +
                                                     "/commands?limit=1000"));
    std::vector<std::string> running;
    for (const nlohmann::json& one : all) {
      if (text_at(one, "state") == "running") running.push_back(text_at(one, "id"));
    }
    if (running.size() == 1) co_return std::move(running.front());
    if (running.empty()) co_return fail(Errc::command_not_found, "no command runs in \"" + name + "\"");
    co_return fail(Errc::missing_field, std::to_string(running.size()) + " commands run in \"" + name +
                                            "\": say which. `skiff top " + name + "` lists them, `skiff stop " + name +
                                            "` ends all");
  }

  std::string signal_ = "TERM";
  std::string session_ = "default";
};

}  // namespace

Command kill_command() {
  return {.name = "kill",
          .group = "Commands",
          .summary = "send a signal to a command",
          .text =
              "COMMAND is the id of a command, as `skiff top` lists it. You may omit it if only one command runs.\n"
              "skiff waits up to 3 seconds for the end of the command, and says whether a process is left.\n"
              "\n"
              "  skiff kill -s INT demo build",
          .words = {{.name = "NAME", .kind = WordKind::sandbox},
                    {.name = "COMMAND", .kind = WordKind::command_id, .optional = true}},
          .make = &create_invocation<Kill>};
}

}  // namespace skiff::container
