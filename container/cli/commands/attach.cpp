#include <unistd.h>

#include <utility>

#include <nlohmann/json.hpp>

#include "container/agent/answer.hpp"
#include "container/cli/commands/commands.hpp"
#include "container/cli/context.hpp"
#include "container/cli/flags/command_flags.hpp"
#include "container/cli/output/attached.hpp"
#include "container/cli/output/output.hpp"
#include "container/cli/output/terminal.hpp"

namespace skiff::container {
namespace {

class Attach final : public Invocation {
 public:
  std::vector<Setting> rows() override {
    return {{.flag = "from",
             .target = setting::Size{&from_},
             .value = "OFFSET",
             .help = "Begin at this byte of the output; both streams count together."},
            session_row(&session_),
            detach_keys_row(&detach_keys_)};
  }

  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    SKIFF_CO_TRY(auto keys, DetachKeys::parse(detach_keys_));
    SKIFF_CO_TRY(auto endpoint, co_await context.endpoint(arguments.words.at(0)));
    AgentClient agent{context.executor(), endpoint};
    std::string id = arguments.words.size() > 1 ? arguments.words[1] : "";
    if (id.empty()) {
      SKIFF_CO_TRY(id, co_await unnamed_command(&agent, session_));
    }
    SKIFF_CO_TRY(auto shown, co_await agent.get(command_path(session_, id)));
    AgentAnswer known{shown, "a command"};
    AttachedOptions options{.stdin_too = known.flag("stdin/open"),
                            .terminal = known.flag("tty"),
                            .starts = false,
                            .detach = std::move(keys),
                            .sandbox = arguments.words.at(0),
                            .session = session_};
    if (from_ == 0) options.missed_until = known.number("output/next_offset").value_or(0);
    const std::uint64_t fed = known.number("stdin/offset").value_or(0);
    SKIFF_CO_TRY_VOID(known.check());
    CommandStream command{context.executor(), endpoint, session_, id};
    command.attach({.from = from_, .fed = fed});
    if (const auto size = terminal_size(); size && options.terminal) {
      (void)co_await command.resize(size->columns, size->rows);
    }
    SKIFF_CO_TRY(auto end, co_await stay_attached(&context, &command, std::move(options)));
    co_return end.status;
  }

 private:
  std::uint64_t from_ = 0;
  std::string session_ = "default";
  std::string detach_keys_{DetachKeys::kDefault};
};

}  // namespace

Command attach_command() {
  return {.name = "attach",
          .group = "Commands",
          .summary = "attach to a command: read output from any offset, send input and signals",
          .text =
              "Without COMMAND skiff attaches to the command that `skiff run` started, or to the newest.\n"
              "\n"
              "  skiff attach demo web --from 1000",
          .words = {{.name = "NAME", .kind = WordKind::sandbox},
                    {.name = "COMMAND", .kind = WordKind::command_id, .optional = true}},
          .make = &create_invocation<Attach>};
}

}  // namespace skiff::container
