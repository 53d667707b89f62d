#include "container/cli/flags/command_flags.hpp"

#include <unistd.h>

#include <cstdlib>
#include <utility>

#include <nlohmann/json.hpp>

#include "container/agent/answer.hpp"
#include "container/cli/output/terminal.hpp"
#include "protocol/http/target.hpp"
#include "protocol/json/utf8.hpp"

namespace skiff::container {
namespace {

/// The agent takes JSON, which must be UTF-8 (RFC 8259, 8.1).
std::unexpected<Error> no_text(const std::string& what, std::string_view bytes) {
  return fail(Errc::invalid_field,
              what + " \"" + protocol::to_valid_utf8(bytes) + "\" is not UTF-8: give such bytes by stdin or in a file");
}

}  // namespace

std::vector<Setting> CommandFlags::rows() {
  using namespace std::chrono_literals;
  return {
      {.flag = "interactive",
       .target = setting::Switch{&interactive_},
       .help = "Forward stdin to the command.",
       .letter = 'i'},
      {.flag = "tty",
       .target = setting::Switch{&terminal_},
       .help = "Allocate a terminal; with -i it is connected to yours.",
       .letter = 't'},
      {.flag = "cwd",
       .target = setting::Text{&cwd_},
       .value = "DIR",
       .help = "Working directory, relative to the sandbox's directory.",
       .letter = 'w'},
      {.flag = "timeout",
       .environment = "SKIFF_EXEC_TIMEOUT",
       .target = setting::Duration{&timeout_, 0ms, std::chrono::days{365}},
       .value = "TIME",
       .help = "Kill the command, with all processes that it started, after this time. 0: never."},
      detach_keys_row(&detach_keys_),
  };
}

std::vector<Setting> CommandFlags::rows_of_an_existing_sandbox() {
  std::vector<Setting> rows = this->rows();
  rows.push_back({.flag = "workdir",
                  .target = setting::Text{&cwd_},
                  .value = "DIR",
                  .help = "The same as --cwd, for users of docker."});
  rows.push_back({.flag = "user",
                  .target = setting::Text{&user_},
                  .value = "USER[:GROUP]",
                  .help = "User to run as, by name or id; the agent must be root to run as another user than its own.",
                  .shown_default = "the agent's",
                  .letter = 'u'});
  return rows;
}

Setting session_row(std::string* session, char letter) {
  return {.flag = "session",
          .target = setting::Text{session},
          .value = "SESSION",
          .help = "Session of the sandbox.",
          .letter = letter};
}

nlohmann::json terminal_request() {
  const TerminalSize size = terminal_size().value_or(TerminalSize{});
  return {{"cols", size.columns}, {"rows", size.rows}};
}

Result<nlohmann::json> CommandFlags::request(std::vector<std::string> argv) const {
  if (terminal_ && interactive_ && ::isatty(STDIN_FILENO) != 1) {
    return fail(Errc::not_a_terminal, "stdin is not a terminal: omit -t, or run skiff in a terminal");
  }
  for (const std::string& word : argv) {
    if (!protocol::is_valid_utf8(word)) return no_text("argument", word);
  }
  if (!protocol::is_valid_utf8(cwd_)) return no_text("--cwd", cwd_);
  if (!protocol::is_valid_utf8(user_)) return no_text("--user", user_);
  nlohmann::json request{{"argv", std::move(argv)}};
  if (interactive_) request["stdin_open"] = true;
  if (!cwd_.empty()) request["cwd"] = cwd_;
  if (!user_.empty()) request["user"] = user_;
  if (timeout_.count() > 0) request["timeout_ms"] = timeout_.count();
  if (terminal_) {
    request["tty"] = terminal_request();
    if (const char* kind = std::getenv("TERM"); kind != nullptr) request["env"]["TERM"] = kind;
  }
  return request;
}

Task<Result<std::string>> unnamed_command(AgentClient* agent, std::string session) {
  // The list is in the order of the starts.
  SKIFF_CO_TRY(auto all,
               co_await agent->get_items("/v1/sessions/" + protocol::percent_encode(session) + "/commands?limit=1000"));
  if (all.empty()) {
    co_return fail(Errc::command_not_found, "no command was started in session \"" + session + "\" yet");
  }
  for (const nlohmann::json& one : all) {
    if (text_at(one, "id") == kMainCommand) co_return std::string{kMainCommand};
  }
  AgentAnswer newest{all.back(), "a command"};
  std::string id = newest.text("id");
  SKIFF_CO_TRY_VOID(newest.check());
  co_return id;
}

Result<AttachedOptions> CommandFlags::attached(std::string sandbox) const {
  SKIFF_TRY(auto keys, DetachKeys::parse(detach_keys_));
  return AttachedOptions{
      .stdin_too = interactive_, .terminal = terminal_, .detach = std::move(keys), .sandbox = std::move(sandbox)};
}

}  // namespace skiff::container
