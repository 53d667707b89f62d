#include <unistd.h>

#include <cstdlib>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/id.hpp"
#include "container/cli/commands/commands.hpp"
#include "container/cli/context.hpp"
#include "container/cli/flags/command_flags.hpp"
#include "container/cli/output/attached.hpp"

namespace skiff::container {
namespace {

/// The sandbox's own shell; bash where that is only /bin/sh and there is a bash.
constexpr const char* kShell =
    R"([ "$SHELL" != /bin/sh ] || ! command -v bash >/dev/null || SHELL=$(command -v bash); exec "$SHELL")";

class Shell final : public Invocation {
 public:
  std::vector<Setting> rows() override { return {session_row(&session_), detach_keys_row(&detach_keys_)}; }

  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    SKIFF_CO_TRY(auto keys, DetachKeys::parse(detach_keys_));
    SKIFF_CO_TRY(auto endpoint, co_await context.endpoint(arguments.words.at(0)));
    const bool terminal = ::isatty(STDIN_FILENO) == 1;
    nlohmann::json request{{"command", std::string{kShell} + (terminal ? " -i" : "")}, {"stdin_open", true}};
    if (terminal) {
      request["tty"] = terminal_request();
      if (const char* kind = std::getenv("TERM"); kind != nullptr) request["env"]["TERM"] = kind;
    }
    CommandStream command{context.executor(), endpoint, session_, new_id("shell-")};
    command.start(std::move(request));
    AttachedOptions options{.stdin_too = true,
                            .terminal = terminal,
                            .detach = std::move(keys),
                            .sandbox = arguments.words.at(0),
                            .session = session_};
    SKIFF_CO_TRY(auto end, co_await stay_attached(&context, &command, std::move(options)));
    co_return end.status;
  }

 private:
  std::string session_ = "default";
  std::string detach_keys_{DetachKeys::kDefault};
};

}  // namespace

Command shell_command() {
  return {.name = "shell",
          .group = "Commands",
          .summary = "open a shell in a sandbox",
          .text = "The shell is interactive on a terminal; otherwise it runs the script on stdin.",
          .words = {{.name = "NAME", .kind = WordKind::sandbox}},
          .make = &create_invocation<Shell>};
}

}  // namespace skiff::container
