#include "runtime/api/commands/command_routes.hpp"

#include <csignal>

#include "runtime/api/audit.hpp"
#include "runtime/api/commands/log_stream.hpp"
#include "runtime/api/commands/wait_answer.hpp"
#include "runtime/api/events.hpp"
#include "runtime/api/paging.hpp"

namespace skiff::runtime::api {
namespace {

std::string location_of(const sessions::Command& command) {
  return "/v1/sessions/" + command.session() + "/commands/" + command.id();
}

/// Parses `until`: true for `end`, which continues after the exit until every pipe is at its end.
Result<bool> asked_until_end(const Call& call) {
  const auto until = call.query("until");
  if (!until || *until == "exit") return false;
  if (*until == "end") return true;
  return fail(Errc::invalid_field, "until must be exit or end", "until");
}

Task<Result<>> answer_wait(Call& call, std::shared_ptr<sessions::Command> command, CommandRequest request) {
  const bool kill = request.on_disconnect == OnDisconnect::kill;
  const auto max_bytes =
      static_cast<std::size_t>(request.output.max_output_bytes.value_or(call.agent.settings.max_output_bytes));
  std::optional<Milliseconds> limit = request.wait;
  if (limit) limit = std::min(*limit, call.agent.settings.max_wait);
  auto outcome = co_await wait_for_exit(call, command, limit);
  if (!outcome) {
    if (kill) command->end(sessions::Cause::killed_by_client);
    co_return std::unexpected{outcome.error()};
  }
  std::string text = co_await wait_result(&call.agent, call.http.who(), command, max_bytes);
  co_return co_await answer_json(call, outcome->begun, 200, std::move(text));
}

}  // namespace

Task<Result<sessions::Session::Started>> start(Agent& agent, const Caller* caller,
                                               std::shared_ptr<sessions::Session> session,
                                               const CommandRequest* request,
                                               std::shared_ptr<sessions::Channels> channels) {
  if (request->if_instance && *request->if_instance != agent.instance) {
    co_return fail(Errc::instance_changed, "the agent is now instance " + agent.instance, "/if_instance");
  }
  if (request->user && caller->identity.anonymous) {
    co_return fail(Errc::cannot_switch_user, "users can't be switched without authentication", "/user");
  }
  const auto& bounds = session->spec();
  if (request->user && bounds.user && *request->user != *bounds.user && is_kept_in(caller->identity)) {
    co_return fail(Errc::cannot_switch_user,
                   "the credential is for a session whose commands run as user \"" + *bounds.user + "\"", "/user");
  }
  SKIFF_CO_TRY(auto spec, request->spec(caller->traceparent));
  spec.channels = std::move(channels);
  auto user = co_await session->find_user(spec.user);
  if (agent.shutdown.draining()) co_return fail(Errc::draining, "the agent is stopping and takes no new work");
  auto started = session->start(std::move(spec), std::move(user));
  if (started && !started->repeated) audit_command(agent, *caller, *started->command);
  co_return started;
}

Task<Result<sessions::Session::Started>> start(Call& call, std::shared_ptr<sessions::Session> session,
                                               const CommandRequest* request) {
  const Caller caller{call.identity, call.request_id, call.traceparent};
  auto started = co_await start(call.agent, &caller, std::move(session), request);
  if (started) call.command_id = started->command->id();
  co_return started;
}

Task<Result<>> start_command(Call& call) {
  SKIFF_CO_TRY(auto session, call.session());
  SKIFF_CO_TRY(auto request, call.decode<CommandRequest>());
  SKIFF_CO_TRY(const auto until_end, asked_until_end(call));
  StreamForm form = StreamForm::ndjson;
  if (request.mode == Mode::stream) {
    SKIFF_CO_TRY(form, stream_form(call.http.request().headers.get("Accept"), StreamForm::ndjson));
  }
  SKIFF_CO_TRY(auto started, co_await start(call, session, &request));
  const std::shared_ptr<sessions::Command> command = started.command;
  call.http.extra_headers().set("X-Skiff-Command-Id", command->id());

  switch (request.mode) {
    case Mode::wait:
      co_return co_await answer_wait(call, command, request);
    case Mode::stream: {
      // The reader is lossless from the first byte on, so that `auto` drops nothing.
      LogStream options;
      options.form = form;
      options.lossless = true;
      options.announce = true;
      options.kill_on_disconnect = request.on_disconnect == OnDisconnect::kill;
      options.only = form == StreamForm::octets ? std::optional{sessions::Stream::out} : std::nullopt;
      options.until_end = until_end;
      co_return co_await stream_log(call, command, options);
    }
    case Mode::background: {
      co_await command->started();
      std::string text;
      append_command(text, *command);
      call.http.extra_headers().set("Location", location_of(*command));
      co_return co_await call.json(202, std::move(text));
    }
  }
  co_return fail(Errc::internal, "unknown mode");
}

Task<Result<>> list_commands(Call& call) {
  SKIFF_CO_TRY(auto session, call.session());
  const auto wanted = call.query("state");
  if (wanted && *wanted != "starting" && *wanted != "running" && *wanted != "ended") {
    co_return fail(Errc::invalid_field, "state must be starting, running or ended", "state");
  }
  Page page;
  SKIFF_CO_TRY_VOID(page.read(call));
  const auto commands = session->commands();
  std::string text = page.list(
      commands, [](const auto& command) -> const std::string& { return command->id(); },
      [&](const auto& command) { return !wanted || name(command->state()) == *wanted; },
      [](std::string& out, const auto& command) { append_command(out, *command); });
  co_return co_await call.json(200, std::move(text));
}

Task<Result<>> show_command(Call& call) {
  SKIFF_CO_TRY(auto command, call.command());
  SKIFF_CO_TRY(auto wait, call.query_number("wait_ms", kLongestTime));
  bool begun = false;
  if (wait && *wait > 0) {
    const auto limit = std::min(Milliseconds{static_cast<std::int64_t>(*wait)}, call.agent.settings.max_wait);
    SKIFF_CO_TRY(auto outcome, co_await wait_for_exit(call, command, limit));
    begun = outcome.begun;
  }
  const bool waits = co_await command->waiting_for_input();
  std::string text;
  append_command(text, *command, waits);
  co_return co_await answer_json(call, begun, 200, std::move(text));
}

Task<Result<>> read_output(Call& call) {
  SKIFF_CO_TRY(auto command, call.command());
  constexpr auto kAny = std::numeric_limits<std::uint64_t>::max();
  LogStream options;
  SKIFF_CO_TRY(auto from, call.query_number("from", kAny));
  options.from = from.value_or(0);
  SKIFF_CO_TRY(options.limit_bytes, call.query_number("limit_bytes", kAny));
  SKIFF_CO_TRY(auto follow, call.query_flag("follow"));
  options.follow = follow;
  SKIFF_CO_TRY(options.lossless, call.query_flag("lossless"));
  if (options.lossless) {
    // A lossless reader can make the command wait.
    SKIFF_CO_TRY_VOID(require(call.identity, Scope::exec));
  }
  SKIFF_CO_TRY(options.until_end, asked_until_end(call));
  SKIFF_CO_TRY(options.form, stream_form(call.http.request().headers.get("Accept"), StreamForm::ndjson));
  if (options.form == StreamForm::octets) options.only = sessions::Stream::out;
  if (const auto stream = call.query("stream")) {
    if (*stream == "stdout") {
      options.only = sessions::Stream::out;
    } else if (*stream == "stderr") {
      options.only = sessions::Stream::err;
    } else if (*stream == "both") {
      options.only = std::nullopt;
    } else {
      co_return fail(Errc::invalid_field, "stream must be stdout, stderr or both", "stream");
    }
  }
  SKIFF_CO_TRY(auto last, call.last_event_id());
  if (last) options.from = *last;
  // An EventSource would reconnect at once if the stream ended by itself.
  if (options.form == StreamForm::sse && !call.query("follow")) options.follow = true;
  co_return co_await stream_log(call, command, options);
}

Task<Result<>> write_stdin(Call& call) {
  SKIFF_CO_TRY(auto command, call.command());
  SKIFF_CO_TRY(auto offset, call.query_number("offset", std::numeric_limits<std::uint64_t>::max()));
  SKIFF_CO_TRY(auto eof, call.query_flag("eof"));
  if (!command->stdin_open() && !command->stdin_finished() && command->state() != sessions::State::starting) {
    co_return fail(Errc::stdin_closed, "stdin of the command is closed");
  }
  std::optional<std::uint64_t> at = offset;
  // An end alone has a place, too.
  if (at) SKIFF_CO_TRY_VOID(co_await command->write_stdin({}, at));
  std::string buffer(std::size_t{64} << 10U, '\0');
  for (;;) {
    SKIFF_CO_TRY(auto got, co_await call.http.read_body_some(buffer));
    if (got == 0) break;
    Slice bytes{std::string{buffer.data(), got}};
    SKIFF_CO_TRY_VOID(co_await command->write_stdin(std::move(bytes), at));
    if (at) *at += got;
  }
  if (eof) {
    SKIFF_CO_TRY_VOID(co_await command->close_stdin());
  }
  co_return co_await call.no_content();
}

Task<Result<>> send_signal(std::shared_ptr<sessions::Command> command, SignalRequest request) {
  SKIFF_CO_TRY(auto signal, signal_number(request.signal, "/signal"));
  Result<int> then = SIGKILL;
  if (request.escalate_to) then = signal_number(*request.escalate_to, "/escalate_to");
  if (!then) co_return std::unexpected{then.error()};
  const auto usual = signal == SIGKILL || signal == SIGTERM  ? sessions::Target::tree
                     : signal == SIGINT || signal == SIGQUIT ? sessions::Target::group
                                                             : sessions::Target::leader;
  const auto target = request.target.value_or(usual);
  // A KILL of the tree is verified as every other end of it. SIGCONT, which hurts no process, says whether one is left.
  const bool ends_tree = signal == SIGKILL && target == sessions::Target::tree && !request.escalate_after;
  auto sent = co_await command->signal(ends_tree ? SIGCONT : signal, target);
  if (sent && ends_tree) command->kill(sessions::Cause::killed_by_client);
  if (sent && request.escalate_after) command->escalate(*request.escalate_after, *then);
  co_return sent;
}

Task<Result<>> signal_command(Call& call) {
  SKIFF_CO_TRY(auto command, call.command());
  SKIFF_CO_TRY(auto request, call.decode<SignalRequest>());
  SKIFF_CO_TRY_VOID(co_await send_signal(command, std::move(request)));
  co_return co_await call.no_content();
}

Task<Result<>> resize_command(Call& call) {
  SKIFF_CO_TRY(auto command, call.command());
  SKIFF_CO_TRY(auto size, call.decode<sessions::TerminalSize>());
  SKIFF_CO_TRY_VOID(command->resize(size));
  co_return co_await call.no_content();
}

Task<Result<>> delete_command(Call& call) {
  SKIFF_CO_TRY(auto session, call.session());
  SKIFF_CO_TRY_VOID(co_await session->erase(call.params.at(1)));
  co_return co_await call.no_content();
}

}  // namespace skiff::runtime::api
