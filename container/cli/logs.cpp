#include <utility>

#include <nlohmann/json.hpp>

#include "container/cli/attached.hpp"
#include "container/cli/commands.hpp"
#include "container/cli/context.hpp"
#include "container/launcher/agent_answer.hpp"
#include "protocol/target.hpp"

namespace skiff::container {
namespace {

class Logs final : public Invocation {
 public:
  std::vector<Setting> rows() override {
    return {{.flag = "follow",
             .environment = "",
             .target = setting::Switch{&follow_},
             .value = "",
             .group = "",
             .help = "Go on until the command has ended.",
             .letter = 'f'},
            {.flag = "from",
             .environment = "",
             .target = setting::Size{&from_},
             .value = "OFFSET",
             .group = "",
             .help = "Begin at this byte of its output, both streams counted together."},
            {.flag = "session",
             .environment = "",
             .target = setting::Text{&session_},
             .value = "SESSION",
             .group = "",
             .help = "In which session of the sandbox.",
             .letter = 's'}};
  }

  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    auto endpoint = co_await context.endpoint(arguments.words.at(0));
    if (!endpoint) co_return std::unexpected{std::move(endpoint.error())};
    AgentClient agent{context.executor(), *endpoint};
    std::string id;
    if (arguments.words.size() > 1) {
      id = arguments.words.at(1);
    } else {
      auto newest = co_await newest_command(&agent);
      if (!newest) co_return std::unexpected{std::move(newest.error())};
      id = std::move(*newest);
    }
    AttachedOptions options{.signals = false};
    if (!follow_) {
      auto shown = co_await agent.get(command_path(session_, id));
      if (!shown) co_return std::unexpected{std::move(shown.error())};
      AgentAnswer command{*shown, "a command"};
      options.until = command.number("output/next_offset").value_or(0);
      if (auto fits = command.check(); !fits) co_return std::unexpected{std::move(fits.error())};
      if (*options.until <= from_) co_return 0;
    }
    CommandStream command{context.executor(), *endpoint, session_, id};
    // One who only looks on never holds the command up.
    command.attach({.from = from_, .lossless = false});
    auto end = co_await stay_attached(&context, &command, std::move(options));
    if (!end) co_return std::unexpected{std::move(end.error())};
    co_return 0;
  }

 private:
  /// Lists are in the order of the starts.
  Task<Result<std::string>> newest_command(AgentClient* agent) const {
    auto all = co_await agent->get_items("/v1/sessions/" + protocol::percent_encode(session_) + "/commands?limit=1000");
    if (!all) co_return std::unexpected{std::move(all.error())};
    if (all->empty()) {
      co_return fail(Errc::command_not_found, "no command was started in session \"" + session_ + "\" yet");
    }
    AgentAnswer newest{all->back(), "a command"};
    std::string id = newest.text("id");
    if (auto fits = newest.check(); !fits) co_return std::unexpected{std::move(fits.error())};
    co_return id;
  }

  bool follow_ = false;
  std::uint64_t from_ = 0;
  std::string session_ = "default";
};

}  // namespace

Command logs_command() {
  return {.name = "logs",
          .group = "Commands",
          .summary = "print what a command has said, and says",
          .text = "stdout goes to stdout, stderr to stderr. Without COMMAND it is the one that was started last.",
          .words = {{.name = "NAME", .kind = WordKind::sandbox},
                    {.name = "COMMAND", .kind = WordKind::command_id, .optional = true}},
          .make = &make_invocation<Logs>};
}

}  // namespace skiff::container
