#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "container/agent/client.hpp"
#include "container/cli/command_flags.hpp"
#include "container/cli/commands/commands.hpp"
#include "container/cli/context.hpp"
#include "protocol/http/target.hpp"

namespace skiff::container {
namespace {

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
    SKIFF_CO_TRY_VOID(co_await agent->post(command_path(session_, id) + "/signal", std::move(body)));
    co_return 0;
  }

 private:
  /// The one that runs; with several nobody knows which is meant.
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
              "\n"
              "  skiff kill -s INT demo build",
          .words = {{.name = "NAME", .kind = WordKind::sandbox},
                    {.name = "COMMAND", .kind = WordKind::command_id, .optional = true}},
          .make = &make_invocation<Kill>};
}

}  // namespace skiff::container
