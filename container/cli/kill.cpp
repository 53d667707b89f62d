#include <utility>

#include <nlohmann/json.hpp>

#include "container/cli/commands.hpp"
#include "container/cli/context.hpp"
#include "container/launcher/agent_client.hpp"

namespace skiff::container {
namespace {

class Kill final : public Invocation {
 public:
  std::vector<Setting> rows() override {
    return {{.flag = "signal",
             .environment = "",
             .target = setting::Text{&signal_},
             .value = "SIGNAL",
             .group = "",
             .help = "TERM and KILL go to all that it started, INT and QUIT to its process group, others to itself.",
             .letter = 's'},
            {.flag = "session",
             .environment = "",
             .target = setting::Text{&session_},
             .value = "SESSION",
             .group = "",
             .help = "In which session of the sandbox."}};
  }

  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    auto agent = co_await context.agent(arguments.words.at(0));
    if (!agent) co_return std::unexpected{std::move(agent.error())};
    std::string body = nlohmann::json{{"signal", signal_}}.dump();
    auto sent = co_await (*agent)->post(command_path(session_, arguments.words.at(1)) + "/signal", std::move(body));
    if (!sent) co_return std::unexpected{std::move(sent.error())};
    co_return 0;
  }

 private:
  std::string signal_ = "TERM";
  std::string session_ = "default";
};

}  // namespace

Command kill_command() {
  return {.name = "kill",
          .group = "Commands",
          .summary = "send a signal to a command",
          .text = "  skiff kill -s INT demo build",
          .words = {{.name = "NAME", .kind = WordKind::sandbox}, {.name = "COMMAND", .kind = WordKind::command_id}},
          .make = &make_invocation<Kill>};
}

}  // namespace skiff::container
