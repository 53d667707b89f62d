#include <utility>

#include <nlohmann/json.hpp>

#include "container/cli/attached.hpp"
#include "container/cli/commands.hpp"
#include "container/cli/context.hpp"

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
    const std::string& id = arguments.words.at(1);
    auto endpoint = co_await context.endpoint(arguments.words.at(0));
    if (!endpoint) co_return std::unexpected{std::move(endpoint.error())};
    AttachedOptions options{.signals = false};
    if (!follow_) {
      AgentClient agent{context.executor(), *endpoint};
      auto shown = co_await agent.get(command_path(session_, id));
      if (!shown) co_return std::unexpected{std::move(shown.error())};
      options.until = shown->value("output", nlohmann::json::object()).value("next_offset", std::uint64_t{0});
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
  bool follow_ = false;
  std::uint64_t from_ = 0;
  std::string session_ = "default";
};

}  // namespace

Command logs_command() {
  return {.name = "logs",
          .group = "Commands",
          .summary = "print what a command has said, and says",
          .text = "stdout goes to stdout, stderr to stderr.",
          .words = {{.name = "NAME", .kind = WordKind::sandbox}, {.name = "COMMAND", .kind = WordKind::command_id}},
          .make = &make_invocation<Logs>};
}

}  // namespace skiff::container
