#include "runtime/dialects/e2b/process_service.hpp"

#include <csignal>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "protocol/json/text.hpp"
#include "protocol/json/utf8.hpp"
#include "runtime/api/commands/command_routes.hpp"
#include "runtime/dialects/e2b/files/user_context.hpp"
#include "runtime/dialects/e2b/messages.hpp"
#include "runtime/dialects/e2b/process_stream.hpp"
#include "runtime/reader/outcome.hpp"
#include "sessions/registry.hpp"

namespace skiff::runtime::dialects::e2b {
namespace {

using CommandPointer = std::shared_ptr<sessions::Command>;

/// The variable that E2B's agent sets for every process it starts.
constexpr std::pair<const char*, const char*> kMark{"E2B_SANDBOX", "true"};

/// Fails if the command could not be started.
Result<> check_start(const sessions::Command& command) {
  const auto* const failure = start_failure(command);
  if (failure == nullptr) return {};
  const bool is_for_later = start_fault(*failure) == StartFault::exhausted;
  return fail(is_for_later ? Errc::resource_exhausted : Errc::invalid_field,
              "the process could not be started: " + failure->message);
}

Result<std::shared_ptr<sessions::Session>> session_of(Call* call) {
  SKIFF_TRY(auto session, call->agent().registry.find(sessions::Registry::kDefault));
  call->request.session = session->id();
  return session;
}

Result<CommandPointer> find_any(Call* call, const ProcessSelector& process) {
  SKIFF_TRY(auto session, session_of(call));
  return call->state.processes.find(*session, process);
}

Result<CommandPointer> find_live(Call* call, const ProcessSelector& process) {
  SKIFF_TRY(auto session, session_of(call));
  return call->state.processes.find_live(*session, process);
}

/// Starts a process. Errors: those of an invalid request, and of a program that could not be started.
Task<Result<CommandPointer>> begin(StreamCall* call, StartMessage message) {
  State& state = call->call.state;
  Agent& agent = call->call.agent();
  SKIFF_CO_TRY(auto user, basic_user(call->call.request.http.request().headers));
  SKIFF_CO_TRY(auto context, co_await find_user(&call->call, std::move(user)));
  api::CommandRequest wanted;
  SKIFF_CO_TRY(wanted.cwd, context.resolve(message.cwd));
  wanted.argv = std::move(message.argv);
  wanted.env.insert(kMark);
  if (!context.asker && !agent.settings.e2b_home.empty()) wanted.env["HOME"] = agent.settings.e2b_home;
  for (const auto* variables : {&state.env, &message.envs}) {
    for (const auto& [name, value] : *variables) wanted.env.insert_or_assign(name, value);
  }
  if (context.asker) wanted.user = context.user.name;
  wanted.stdin_open = message.stdin_open || message.pty;
  wanted.tty = message.pty;
  if (agent.settings.e2b_deadline == "kill") wanted.timeout = call->time();
  SKIFF_CO_TRY(auto started, co_await api::start(agent, &call->call.request.caller, context.session, &wanted));
  call->call.request.command = started.command->id();
  co_await started.command->started();
  SKIFF_CO_TRY_VOID(check_start(*started.command));
  if (!message.tag.empty()) state.processes.tag(std::move(message.tag), started.command);
  co_return std::move(started.command);
}

void append_process(std::string& out, const sessions::Command& command, std::string_view tag) {
  const auto& spec = command.spec();
  std::vector<std::string> words = spec.argv;
  if (spec.line) words = {"/bin/sh", "-c", *spec.line};
  if (words.empty()) words.emplace_back();
  out += R"({"config":{)";
  protocol::append_json_text(out, "cmd", words.front());
  protocol::append_json_key(out, "args");
  out += '[';
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (i > 1) out += ',';
    protocol::append_json_string(out, protocol::to_valid_utf8(words[i]));
  }
  out += R"(],"envs":{})";  // the values may be secret
  if (spec.cwd) protocol::append_json_text(out, "cwd", *spec.cwd);
  out += '}';
  protocol::append_json_number(out, "pid", static_cast<std::uint64_t>(command.pid()));
  if (!tag.empty()) protocol::append_json_text(out, "tag", tag);
  out += '}';
}

Task<Result<>> write_input(CommandPointer command, ProcessInput input) {
  if (input.is_pty != command->spec().terminal.has_value()) {
    co_return input.is_pty ? fail(Errc::not_a_terminal, "the process has no terminal")
                           : fail(Errc::not_a_terminal, "the process has a terminal: send input.pty");
  }
  if (input.bytes.empty()) co_return Result<>{};
  SKIFF_CO_TRY_VOID(co_await command->write_stdin(Slice{std::move(input.bytes)}, std::nullopt));
  co_return Result<>{};
}

}  // namespace

Task<Result<>> start_process(StreamCall* call) {
  SKIFF_CO_TRY(auto text, co_await call->read_only_message());
  SKIFF_CO_TRY(auto message, read_start(text));
  SKIFF_CO_TRY(auto command, co_await begin(call, std::move(message)));
  // The client that started the process gets every byte: the process waits rather than lose one.
  co_return co_await stream_process(call, std::move(command), true);
}

Task<Result<>> connect_process(StreamCall* call) {
  SKIFF_CO_TRY(auto text, co_await call->read_only_message());
  SKIFF_CO_TRY(auto message, read_connect(text));
  SKIFF_CO_TRY(auto command, find_any(&call->call, message.process));
  call->call.request.command = command->id();
  co_return co_await stream_process(call, std::move(command), false, message.resume_from);
}

Task<Result<>> stream_input(StreamCall* call) {
  CommandPointer command;
  const std::function<bool()> still_wanted = [&command] { return !command || !command->over(); };
  for (;;) {
    SKIFF_CO_TRY(auto text, co_await call->next_message(&still_wanted));
    if (!text) break;
    SKIFF_CO_TRY(auto message, read_stream_input(*text));
    if (message.start) {
      SKIFF_CO_TRY(command, find_live(&call->call, *message.start));
      call->call.request.command = command->id();
    }
    if (!message.data) continue;
    if (!command) co_return fail(Errc::invalid_request, "the first message must name the process");
    SKIFF_CO_TRY_VOID(co_await write_input(command, std::move(*message.data)));
  }
  std::string answer;
  append_envelope(answer, Envelope::message, "{}");
  co_return co_await call->send(answer);
}

Task<Result<std::string>> list_processes(Call* call, std::string message) {
  SKIFF_CO_TRY_VOID(read_list(message));
  SKIFF_CO_TRY(auto session, session_of(call));
  std::string text = R"({"processes":[)";
  for (const CommandPointer& command : session->commands()) {
    if (command->state() != sessions::State::running) continue;
    if (text.ends_with('}')) text += ',';
    append_process(text, *command, call->state.processes.tag_of(*command));
  }
  co_return text + "]}";
}

Task<Result<std::string>> update_process(Call* call, std::string text) {
  SKIFF_CO_TRY(auto message, read_update(text));
  SKIFF_CO_TRY(auto command, find_live(call, message.process));
  if (message.pty) {
    SKIFF_CO_TRY_VOID(command->resize(*message.pty));
  }
  co_return "{}";
}

Task<Result<std::string>> send_input(Call* call, std::string text) {
  SKIFF_CO_TRY(auto message, read_send_input(text));
  SKIFF_CO_TRY(auto command, find_live(call, message.process));
  SKIFF_CO_TRY_VOID(co_await write_input(std::move(command), std::move(message.input)));
  co_return "{}";
}

Task<Result<std::string>> send_signal(Call* call, std::string text) {
  SKIFF_CO_TRY(auto message, read_send_signal(text));
  SKIFF_CO_TRY(auto command, find_live(call, message.process));
  call->request.command = command->id();
  if (message.signal == SIGKILL) {
    command->kill(sessions::Cause::killed_by_client);
    SKIFF_CO_TRY_VOID(co_await command->killed());
    co_return "{}";
  }
  SKIFF_CO_TRY_VOID(co_await command->signal(message.signal, sessions::Target::tree));
  co_return "{}";
}

Task<Result<std::string>> close_stdin(Call* call, std::string text) {
  SKIFF_CO_TRY(auto process, read_close_stdin(text));
  SKIFF_CO_TRY(auto command, find_live(call, process));
  if (command->spec().terminal) {
    co_return fail(Errc::stdin_closed, "a terminal's input has no end: send it ctrl-D (0x04)");
  }
  if (auto closed = co_await command->close_stdin(); !closed && closed.error().code != Errc::stdin_closed) {
    co_return std::unexpected{std::move(closed.error())};
  }
  co_return "{}";
}

}  // namespace skiff::runtime::dialects::e2b
