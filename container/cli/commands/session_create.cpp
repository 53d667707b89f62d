#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "container/agent/answer.hpp"
#include "container/cli/commands/commands.hpp"
#include "container/cli/context.hpp"
#include "container/cli/flags/spec_flags.hpp"
#include "container/cli/output/printable.hpp"
#include "protocol/json/utf8.hpp"

namespace skiff::container {
namespace {

constexpr std::string_view kReadOnly = ":ro";

class SessionCreate final : public Invocation {
 public:
  std::vector<Setting> rows() override {
    return {{.flag = "root",
             .target = setting::Text{&root_},
             .value = "DIR",
             .help = "Directory of the session, below the sandbox's; created if it is missing.",
             .shown_default = "the sandbox's"},
            {.flag = "cwd",
             .target = setting::Text{&cwd_},
             .value = "DIR",
             .help = "Working directory of its commands, relative to the session's directory.",
             .letter = 'w'},
            {.flag = "extra-root",
             .target = setting::List{&extra_roots_},
             .value = "DIR[:ro]",
             .help = "Absolute path of a further directory for file operations; ro: read only."},
            {.flag = "env",
             .target = setting::List{&env_},
             .value = "NAME=VALUE",
             .help = "Variable for its commands; NAME alone takes its value from skiff's environment.",
             .letter = 'e'}};
  }

  Task<Result<int>> run(Context& context, SettingsTable::Arguments arguments) override {
    const std::string id = arguments.words.size() > 1 ? arguments.words[1] : "";
    for (const std::string* text : {&id, &std::as_const(root_), &std::as_const(cwd_)}) {
      if (protocol::is_valid_utf8(*text)) continue;
      co_return fail(Errc::invalid_field, "SESSION, --root and --cwd must be UTF-8");
    }
    nlohmann::json request = nlohmann::json::object();
    if (!id.empty()) request["id"] = id;
    if (!root_.empty()) request["root"] = root_;
    if (!cwd_.empty()) request["cwd"] = cwd_;
    for (std::string_view extra : extra_roots_) {
      if (!protocol::is_valid_utf8(extra)) co_return fail(Errc::invalid_field, "--extra-root must be UTF-8");
      const bool is_read_only = extra.ends_with(kReadOnly);
      if (is_read_only) extra.remove_suffix(kReadOnly.size());
      request["extra_roots"].push_back({{"path", extra}, {"access", is_read_only ? "ro" : "rw"}});
    }
    SKIFF_CO_TRY(auto env, parse_env(env_));
    for (auto& [name, value] : env) request["env"][name] = std::move(value);
    std::string body = request.dump();
    SKIFF_CO_TRY(auto agent, co_await context.agent(arguments.words.at(0)));
    SKIFF_CO_TRY(auto made, co_await agent->post("/v1/sessions", std::move(body)));
    AgentAnswer session{made, "a session"};
    const std::string line = printable(session.text("id")) + "\n";
    SKIFF_CO_TRY_VOID(session.check());
    SKIFF_CO_TRY_VOID(context.show(made, line, line));
    co_return 0;
  }

 private:
  std::string root_;
  std::string cwd_;
  std::vector<std::string> extra_roots_;
  std::vector<std::string> env_;
};

}  // namespace

Command session_create_command() {
  return {.name = "session create",
          .group = "Sessions",
          .summary = "create a session in a sandbox, with its own directory and variables",
          .text =
              "Prints the session's id, which is SESSION if you give it.\n"
              "\n"
              "  skiff session create demo build --root src -e CI=1\n"
              "  skiff exec -s build demo make\n"
              "  skiff session create demo two --extra-root /data --extra-root /models:ro",
          .words = {{.name = "NAME", .kind = WordKind::sandbox}, {.name = "SESSION", .optional = true}},
          .make = &create_invocation<SessionCreate>};
}

}  // namespace skiff::container
