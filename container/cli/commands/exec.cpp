#include <unistd.h>

#include <cerrno>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/id.hpp"
#include "container/agent/answer.hpp"
#include "container/cli/commands/commands.hpp"
#include "container/cli/context.hpp"
#include "container/cli/flags/command_flags.hpp"
#include "container/cli/flags/spec_flags.hpp"
#include "container/cli/output/attached.hpp"
#include "container/cli/output/json_path.hpp"
#include "container/cli/output/output.hpp"
#include "protocol/http/target.hpp"

namespace skiff::container {
namespace {

class Exec final : public Invocation {
 public:
  std::vector<Setting> rows() override {
    std::vector<Setting> rows = flags_.rows_of_an_existing_sandbox();
    rows.push_back({.flag = "env",
                    .target = setting::List{&env_},
                    .value = "NAME=VALUE",
                    .help = "Variable for the command; NAME alone takes its value from skiff's environment.",
                    .letter = 'e'});
    rows.push_back({.flag = "mode",
                    .target = setting::Choice{&mode_, {"stream", "wait", "background"}},
                    .value = "MODE",
                    .help = "stream: print the output as it arrives. wait: print it when the command has ended. "
                            "background: print the id and exit."});
    rows.push_back({.flag = "detach",
                    .target = setting::Switch{&detach_},
                    .help = "The same as --mode background.",
                    .letter = 'd'});
    rows.push_back(session_row(&session_));
    rows.push_back({.flag = "id",
                    .target = setting::Text{&id_},
                    .value = "ID",
                    .help = "Id of the command; a command starts at most once with the same id.",
                    .shown_default = "a new one"});
    return rows;
  }

  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    if (detach_) mode_ = "background";
    SKIFF_CO_TRY(auto request, flags_.request(std::move(arguments.rest)));
    if (mode_ == "wait" && request.contains("stdin_open")) {
      co_return fail(Errc::invalid_field,
                     "-i needs --mode stream: skiff cannot send input while it waits for the result");
    }
    SKIFF_CO_TRY(auto joined, flags_.attached(arguments.words.at(0)));
    joined.session = session_;
    SKIFF_CO_TRY(auto env, parse_env(env_));
    for (auto& [name, value] : env) request["env"][name] = std::move(value);
    const std::string id = id_.empty() ? new_id("c") : id_;
    SKIFF_CO_TRY(auto endpoint, co_await context.endpoint(arguments.words.at(0)));
    if (mode_ == "stream") {
      CommandStream command{context.executor(), endpoint, session_, id};
      command.start(std::move(request));
      auto end = co_await stay_attached(&context, &command, std::move(joined));
      if (!end) co_return std::unexpected{explained(std::move(end.error()))};
      co_return end->status;
    }
    request["id"] = id;
    request["mode"] = mode_;
    if (mode_ == "wait") request["on_disconnect"] = "kill";
    AgentClient agent{context.executor(), std::move(endpoint)};
    std::string body = request.dump();
    auto result =
        co_await agent.post("/v1/sessions/" + protocol::percent_encode(session_) + "/commands", std::move(body));
    if (!result) co_return std::unexpected{explained(std::move(result.error()))};
    co_return mode_ == "wait" ? show_result(context, *result) : show_started(context, *result, id);
  }

 private:
  /// Agents in a cluster are not root: the user of commands is chosen when the sandbox is created.
  static Error explained(Error error) {
    if (error.code == Errc::cannot_switch_user)
      error.message += "; `skiff up NAME -u UID` creates a sandbox with another user";
    return error;
  }

  static Result<int> show_started(const Context& context, const nlohmann::json& command, const std::string& id) {
    const std::string line = id + "\n";
    SKIFF_TRY_VOID(context.show(command, line, line));
    return 0;
  }

  static Result<int> show_result(const Context& context, const nlohmann::json& result) {
    const std::string& form = context.options().output;
    if (form == "json" || form == "yaml" || form.starts_with(kJsonPath)) {
      SKIFF_TRY_VOID(context.show(result, "", ""));
      return exit_status(CommandExit::of(result));
    }
    AgentAnswer answer{result, "the result of a command"};
    const std::string out = answer.bytes("stdout");
    const std::string errors = answer.bytes("stderr");
    const bool is_truncated = answer.flag("truncated");
    SKIFF_TRY_VOID(answer.check());
    SKIFF_TRY_VOID(print(out));
    const int error = write_all(STDERR_FILENO, errors);
    if (error != 0 && error != EPIPE) return std::unexpected{system_error(error, "write to stderr")};
    const int status = exit_status(CommandExit::of(result));
    if (!is_truncated) return status;
    say("the middle of the output was left out: --mode stream prints all of it");
    return kFailed;
  }

  CommandFlags flags_;
  std::vector<std::string> env_;
  std::string mode_ = "stream";
  bool detach_ = false;
  std::string session_ = "default";
  std::string id_;
};

}  // namespace

Command exec_command() {
  return {.name = "exec",
          .group = "Commands",
          .summary = "run a command in a sandbox",
          .text =
              "The command begins with the first word after NAME that is not a flag; -- may stand before it.\n\n"
              "  skiff exec demo make test\n"
              "  tar c . | skiff exec -i demo -- tar x\n"
              "  skiff exec -it demo -- python3\n"
              "  skiff exec demo --mode background --id web -- python3 -m http.server",
          .words = {{.name = "NAME", .kind = WordKind::sandbox}},
          .rest = Rest::required,
          .make = &create_invocation<Exec>};
}

}  // namespace skiff::container
